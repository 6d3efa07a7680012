import { formatBytes, formatCores } from '../grammar/index.js';
import { defineColumns } from '../kind/index.js';
import type { NodeView } from './view.js';

/** What lists show of a node. */
export const nodeColumns = defineColumns<NodeView>([
  { title: 'NAME', value: ({ name }) => name },
  { title: 'STATUS', value: ({ status }) => status, format: 'state' },
  { title: 'CPU FREE', value: ({ free, capacity }) => `${formatCores(free.cpu)} of ${formatCores(capacity.cpu)}` },
  {
    title: 'MEMORY FREE',
    value: ({ free, capacity }) => `${formatBytes(free.memory)} of ${formatBytes(capacity.memory)}`,
  },
  { title: 'LAST HEARTBEAT', value: ({ agent }) => agent.lastHeartbeatAt ?? '', format: 'age' },
  { title: 'AGE', value: ({ metadata }) => metadata.createdAt, format: 'age' },
  { title: 'AGENT', isWide: true, value: ({ agent }) => agent.version },
  { title: 'ID', isWide: true, value: ({ id }) => id },
  {
    title: 'LABELS',
    isWide: true,
    value: ({ labels }) =>
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(', '),
  },
  {
    title: 'MESSAGE',
    isWide: true,
    value: ({ schedulable }) => schedulable.reason,
    isWarning: ({ schedulable, controlPlane }) => !schedulable.value && !controlPlane,
  },
]);
