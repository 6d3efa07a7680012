import type { ContainerLogOptions, LogEntry } from '../engine.js';
import { parseEngineTime } from '../log-entries.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { MAIN } from './pod.js';

const SILENCE_MS = 10_000;
const LINE_BREAK = 10;
const SPACE = 32;
/** A longer line is given in parts. */
const LINE_MAX = 256 * 1024;

/** What a Pod has printed until now. A cluster keeps both streams as one. */
export async function* readContainerLog(
  api: KubernetesApi,
  pod: string,
  { tail, since }: ContainerLogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogEntry> {
  if (tail === 0) return;
  const window = {
    ...(tail !== undefined && { tailLines: String(tail) }),
    ...(since !== undefined && { sinceTime: toRfc3339(since) }),
  };
  const query = { container: MAIN, timestamps: 'true', ...window };
  const path = await api.path(`pods/${pod}/log`);
  // 400: it has not started; 404: it is gone, or its log is.
  const chunks = await api.open(path, { query, expected: [400, 404], silenceMs: SILENCE_MS, signal });
  if (!chunks) return;
  for await (const entry of readLogLines(chunks)) if (since === undefined || entry.at >= since) yield entry;
}

/** Splits a log into its lines, each of which begins with its time. */
export async function* readLogLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<LogEntry> {
  let held: Buffer = Buffer.alloc(0);
  let at = '0000000000.000000000';
  const toEntry = (line: Buffer): LogEntry => {
    const end = line.indexOf(SPACE);
    const time = parseEngineTime(line.subarray(0, Math.max(0, end)).toString('latin1'));
    if (time === undefined) return { stream: 'stdout', at, bytes: line };
    at = time;
    return { stream: 'stdout', at, bytes: line.subarray(end + 1) };
  };
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (;;) {
      const end = held.indexOf(LINE_BREAK);
      const size = end >= 0 ? end + 1 : held.length >= LINE_MAX ? held.length : 0;
      if (size === 0) break;
      yield toEntry(held.subarray(0, size));
      held = held.subarray(size);
    }
  }
  if (held.length > 0) yield toEntry(held);
}

/** `1763239738.000000042` as `2025-11-15T20:48:58.000000042Z`. */
function toRfc3339(at: string): string {
  const [seconds = '0', nanos = '0'] = at.split('.');
  // No later time than this can be written with four digits of a year.
  const time = new Date(Math.min(Number(seconds), 253_402_300_799) * 1000).toISOString();
  return time.replace(/\.\d+Z$/, `.${nanos}Z`);
}
