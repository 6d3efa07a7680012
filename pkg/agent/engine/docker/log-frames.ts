import { EngineUnreachableFault } from '../faults.js';
import type { LogChunk } from '../engine.js';

const HEADER = 8;
const STDERR = 2;
const LARGEST_FRAME = 16 * 1024 * 1024;

/**
 * Takes apart the engine's log stream: one byte for the stream, three of nothing, four for the length, then the bytes.
 * What is left of a frame when the stream ends is not handed on.
 */
export async function* logFrames(chunks: AsyncIterable<Buffer>): AsyncGenerator<LogChunk> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= HEADER) {
      const length = held.readUInt32BE(4);
      if (length > LARGEST_FRAME) throw new EngineUnreachableFault('the engine sent logs that cannot be read');
      if (held.length < HEADER + length) break;

      yield { stream: held[0] === STDERR ? 'stderr' : 'stdout', bytes: held.subarray(HEADER, HEADER + length) };
      held = held.subarray(HEADER + length);
    }
  }
}
