import { formatBytes } from '../grammar/index.js';
import { defineColumns } from '../kind/index.js';
import type { VolumeView } from './view.js';

/** What lists show of a volume. */
export const volumeColumns = defineColumns<VolumeView>([
  { title: 'NAME', value: ({ name }) => name },
  { title: 'PHASE', value: ({ phase }) => phase, format: 'state' },
  { title: 'CLASS', value: ({ class: kind }) => kind },
  { title: 'SIZE', value: ({ sizeBytes }) => formatBytes(sizeBytes) },
  { title: 'USED', value: ({ usedBytes }) => (usedBytes === null ? '' : formatBytes(usedBytes)) },
  { title: 'NODE', value: ({ primaryNodeName, primaryNode }) => primaryNodeName ?? primaryNode ?? '' },
  { title: 'MOUNTED BY', value: ({ consumers }) => consumers.map(({ deployment }) => deployment).join(', ') },
  { title: 'AGE', value: ({ metadata }) => metadata.createdAt, format: 'age' },
  { title: 'ID', value: ({ id }) => id },
  { title: 'TYPE', isWide: true, value: ({ type }) => type },
  { title: 'DRIVER', isWide: true, value: ({ driver }) => driver ?? '' },
  {
    title: 'MESSAGE',
    isWide: true,
    value: ({ message }) => message,
    isWarning: ({ phase, reason }) => phase === 'Degraded' || phase === 'Failed' || reason === 'volume_refused',
  },
]);
