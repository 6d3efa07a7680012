import type { LogEntry } from './engine.js';
import type { OutputLine } from './redact.js';

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** A time as engines write it, in seconds and nanoseconds of fixed width. Undefined when it is not a time. */
export function parseEngineTime(text: string): string | undefined {
  const [, time, fraction = '', zone] = TIME.exec(text) ?? [];
  const seconds = Date.parse(`${time}${zone}`) / 1000;
  if (!Number.isInteger(seconds) || seconds < 0) return undefined;
  return `${String(seconds).padStart(10, '0')}.${fraction.padEnd(9, '0')}`;
}

/** How many lines of a log are read when a container has ended: one more than are shown, as the first may have been cut. */
export const LAST_LINES = 21;
const LAST_BYTES = 64 * 1024;

/** The last lines of a log, bounded; whether something stood before them. The parts of a long line are joined, whatever stands between. */
export async function readEnd(
  frames: AsyncIterable<LogEntry>,
): Promise<{ readonly lines: readonly OutputLine[]; readonly isCut: boolean }> {
  const kept: LogEntry[] = [];
  let [size, isCut] = [0, false];
  for await (const entry of frames) {
    kept.push(entry);
    size += entry.bytes.length;
    for (; size > LAST_BYTES; isCut = true) size -= kept.shift()!.bytes.length;
  }
  return { lines: joinLines(kept), isCut: isCut || kept.length >= LAST_LINES };
}

const LINE_BREAK = 10;

function joinLines(entries: readonly LogEntry[]): readonly OutputLine[] {
  const begun: Record<LogEntry['stream'], Buffer[]> = { stdout: [], stderr: [] };
  const lines: OutputLine[] = [];
  const end = (stream: LogEntry['stream']) => {
    const parts = begun[stream].splice(0);
    const text = Buffer.concat(parts)
      .toString('utf8')
      .replace(/\r?\n$/, '');
    if (parts.length > 0) lines.push(...text.split('\n').map(line => ({ stream, text: line })));
  };
  for (const { stream, bytes } of entries) {
    begun[stream].push(bytes);
    if (bytes.at(-1) === LINE_BREAK) end(stream);
  }
  end('stdout');
  end('stderr');
  return lines;
}
