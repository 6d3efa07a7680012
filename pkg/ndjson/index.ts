/**
 * Newline-delimited JSON: how streams of objects travel between our processes and from container engines.
 *
 * A line is only a line once its line break has arrived, so a stream that breaks in the middle of one never yields
 * half an object. A line longer than the limit is a fault, because the other side decides how long it is.
 *
 * Use `readLines` for text and `readDocuments` for parsed values. Opening and closing the stream is left to the caller.
 *
 * @module
 */
import { Fault } from '../fault/index.js';

const LINE_BREAK = 10;
const DEFAULT_LIMIT = 64 * 1024 * 1024;

/** The other side sent a line that no honest message needs. */
export class LineTooLongFault extends Fault {
  readonly retriable = true;

  constructor(limit: number) {
    super(`a line of more than ${limit} bytes was received`);
  }
}

/** Splits bytes into lines. What stands after the last line break is not a line: the stream broke inside it. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, limit = DEFAULT_LIMIT): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end !== -1; end = chunk.indexOf(LINE_BREAK, from)) {
      parts.push(chunk.subarray(from, end));
      yield Buffer.concat(parts).toString('utf8');
      parts = [];
      held = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    held += chunk.length - from;
    if (held > limit) throw new LineTooLongFault(limit);
  }
}

/** The values of a stream, one a line. Empty lines say nothing and are passed over. */
export async function* readDocuments(
  chunks: AsyncIterable<Uint8Array>,
  limit = DEFAULT_LIMIT,
): AsyncGenerator<unknown> {
  for await (const line of readLines(chunks, limit)) {
    if (line.trim() !== '') yield JSON.parse(line) as unknown;
  }
}
