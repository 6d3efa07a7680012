import { defineColumns } from '../kind/index.js';
import type { NetworkStatus, StoredNetwork } from './network.js';

/** A network as the API shows it. */
interface NetworkView extends StoredNetwork {
  readonly status: NetworkStatus | null;
}

/** What lists show of a network. */
export const networkColumns = defineColumns<NetworkView>([
  { title: 'NAME', value: ({ name }) => name },
  { title: 'STATE', value: ({ status }) => status?.state ?? 'pending', format: 'state' },
  { title: 'NODE', value: ({ status, nodeId }) => status?.node ?? nodeId },
  { title: 'INTERNAL', value: ({ internal }) => (internal ? 'yes' : 'no') },
  { title: 'AGE', value: ({ metadata }) => metadata.createdAt, format: 'age' },
  { title: 'DRIVER', isWide: true, value: ({ driver }) => driver },
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
    value: ({ status }) => status?.message ?? '',
    isWarning: ({ status }) => status?.state === 'failed' || status?.state === 'unknown',
  },
]);
