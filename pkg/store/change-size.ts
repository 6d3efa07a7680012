/** What etcd takes in one request, with its default settings. A change that is larger is refused by the store. */
export const MAX_REQUEST_BYTES = 1.5 * 2 ** 20;

/** How many bytes of documents a change may hold at most; what remains of a request is for keys, guards and events. */
export const MAX_DOCUMENT_BYTES = MAX_REQUEST_BYTES - 2 ** 18;

/** Splits what is to be written into as few changes as the store takes, in order, each with `most` items at most. */
export function splitIntoChanges<T>(
  items: readonly T[],
  countBytes: (item: T) => number,
  most: number,
): readonly (readonly T[])[] {
  const changes: T[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = countBytes(item);
    const last = changes.at(-1);
    if (last && last.length < most && bytes + size <= MAX_DOCUMENT_BYTES) {
      last.push(item);
      bytes += size;
    } else {
      changes.push([item]);
      bytes = size;
    }
  }
  return changes;
}
