import { MessageChannel } from 'node:worker_threads';

const { port1: nowhere } = new MessageChannel();
nowhere.close();

/** So many are given back at once: a message for each would cost as much as it saves. */
const TOGETHER = 32;
const spent = new Set<ArrayBufferLike>();

/**
 * Gives the memory of bytes back, a few together, which a socket has read and nothing else holds. Left to the collector, it would mark
 * all of the heap again for every few dozen megabytes that pass, which takes longer than to encrypt and to hash them.
 */
export function releaseBuffer({ buffer }: Buffer): void {
  // Smaller ones may be part of the pool that Node cuts small buffers from.
  if (buffer.byteLength > Buffer.poolSize) spent.add(buffer);
  if (spent.size < TOGETHER) return;
  const together = [...spent] as ArrayBuffer[];
  spent.clear();
  nowhere.postMessage(undefined, together);
}
