import type { StoredVolume } from './volume.js';

/** The volume `data`, with one copy wanted unless it is of another class. */
export function makeVolume(metadata: StoredVolume['metadata'], change: Partial<StoredVolume> = {}): StoredVolume {
  return {
    metadata,
    id: metadata.uid,
    name: 'data',
    class: 'replicated',
    type: 'volume',
    sizeBytes: 2 ** 20,
    accessMode: 'ReadWriteOnce',
    ...((change.class ?? 'replicated') === 'replicated' && { replicas: 1 }),
    ...change,
  };
}
