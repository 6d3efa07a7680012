/**
 * Newline-delimited JSON: the format of object streams between our processes and from container engines.
 *
 * A line is complete only with its line break, so a broken stream never yields half an object. A line longer than the
 * limit is a fault, so that a sender cannot exhaust memory.
 *
 * Use `readLines` for text and `readDocuments` for parsed values. Opening and closing the stream is left to the caller.
 *
 * @module
 */
import { Fault } from '../fault/index.js';

const LINE_BREAK = 10;
const DEFAULT_LIMIT = 64 * 1024 * 1024;

/** The sender exceeded the line limit. */
export class LineTooLongFault extends Fault {
  readonly retriable = true;

  constructor(limit: number) {
    super(`received a line of more than ${limit} bytes`);
  }
}

/** Splits bytes into lines. Bytes after the last line break are dropped: the stream broke inside a line. */
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

/** Parses one JSON value per line. Empty lines are skipped. */
export async function* readDocuments(
  chunks: AsyncIterable<Uint8Array>,
  limit = DEFAULT_LIMIT,
): AsyncGenerator<unknown> {
  for await (const line of readLines(chunks, limit)) {
    if (line.trim() !== '') yield JSON.parse(line) as unknown;
  }
}
