import { type Clock, sleep } from '../../../clock/index.js';
import { readDocuments } from '../../../ndjson/index.js';
import { EngineUnreachableFault, type LogEntry, type OnEngineEvent } from '../engine.js';
import { parseEngineTime } from '../log-entries.js';
import { NODE_LABEL, REPLICA_LABEL } from '../ownership-labels.js';
import type { DockerApi } from './docker-api.js';

const RECONNECT_MS = 500;

/** The events that can change the state of a container. Single runs of a health check are not among them. */
const ACTIONS = ['create', 'start', 'die', 'destroy', 'health_status', 'oom', 'pause', 'unpause', 'rename'];

interface DockerEvent {
  readonly timeNano?: number;
  readonly Actor?: { readonly Attributes?: Readonly<Record<string, string>> };
}

/**
 * Follows the events of one node's containers until aborted.
 *
 * Each time the stream opens, `everything` is reported first: events of the gap may be lost, because an engine forgets
 * them when it restarts, so the caller must list.
 */
export async function followEvents(
  { api, clock, nodeId }: { readonly api: DockerApi; readonly clock: Clock; readonly nodeId: string },
  onEvent: OnEngineEvent,
  signal: AbortSignal,
): Promise<void> {
  const filters = JSON.stringify({ type: ['container'], label: [`${NODE_LABEL}=${nodeId}`], event: ACTIONS });
  let since: string | undefined;
  while (!signal.aborted) {
    try {
      const query = { filters, ...(since === undefined ? {} : { since }) };
      const stream = await api.open('GET', '/events', { query, silenceMs: 0, signal });
      onEvent('everything');
      for await (const document of readDocuments(stream)) {
        const { timeNano, Actor } = document as DockerEvent;
        if (timeNano !== undefined) since = (timeNano / 1e9).toFixed(9);
        const replica = Actor?.Attributes?.[REPLICA_LABEL];
        if (replica) onEvent({ replica });
      }
    } catch {
      // The engine is unreachable: the caller learns it from its other calls.
    }
    await sleep(clock, RECONNECT_MS, signal);
  }
}

const HEADER = 8;
const STDERR = 2;
const FRAME_MAX = 16 * 1024 * 1024;

/**
 * Splits the engine's log stream into entries: one byte for the stream, three unused, four for the length, then a time and the
 * text. An incomplete last entry is dropped.
 */
export async function* readLogEntries(chunks: AsyncIterable<Buffer>): AsyncGenerator<LogEntry> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= HEADER) {
      const length = held.readUInt32BE(4);
      if (length > FRAME_MAX)
        throw new EngineUnreachableFault('the container engine sent a log frame of more than 16 MiB');
      if (held.length < HEADER + length) break;

      const text = held.subarray(HEADER, HEADER + length);
      const end = text.indexOf(SPACE);
      const at = parseEngineTime(text.subarray(0, Math.max(0, end)).toString('latin1'));
      if (at === undefined) throw new EngineUnreachableFault('the container engine sent a log entry without its time');
      yield { stream: held[0] === STDERR ? 'stderr' : 'stdout', at, bytes: text.subarray(end + 1) };
      held = held.subarray(HEADER + length);
    }
  }
}

const SPACE = 32;
