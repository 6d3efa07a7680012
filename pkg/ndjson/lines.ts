import { LineTooLongFault } from './faults.js';

const LINE_BREAK = 10;
const DEFAULT_LIMIT = 64 * 1024 * 1024;

/** Splits bytes into lines. What stands after the last line break is not a line: the stream broke inside it. */
export async function* lines(chunks: AsyncIterable<Uint8Array>, limit = DEFAULT_LIMIT): AsyncGenerator<string> {
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
export async function* documents(chunks: AsyncIterable<Uint8Array>, limit = DEFAULT_LIMIT): AsyncGenerator<unknown> {
  for await (const line of lines(chunks, limit)) {
    if (line.trim() !== '') yield JSON.parse(line) as unknown;
  }
}
