import { type Clock, sleep } from '../../../clock/index.js';
import { documents } from '../../../ndjson/index.js';
import type { EngineEvent } from '../engine.js';
import type { DockerApi } from './docker-api.js';
import { NODE_LABEL, REPLICA_LABEL } from './labels.js';

const RECONNECT_MS = 500;

/** What can change how a container of ours stands. The runs of health checks themselves are not among them. */
const ACTIONS = ['create', 'start', 'die', 'destroy', 'health_status', 'oom', 'pause', 'unpause', 'rename'];

interface DockerEvent {
  readonly timeNano?: number;
  readonly Actor?: { readonly Attributes?: Readonly<Record<string, string>> };
}

/**
 * Follows the events of one node's containers until aborted.
 *
 * Each time the stream has been opened, `everything` is told first: what happened while nobody listened is found by
 * looking, because an engine forgets its events when it restarts.
 */
export async function followEvents(
  { api, clock, nodeId }: { readonly api: DockerApi; readonly clock: Clock; readonly nodeId: string },
  seen: (event: EngineEvent | 'everything') => void,
  signal: AbortSignal,
): Promise<void> {
  const filters = JSON.stringify({ type: ['container'], label: [`${NODE_LABEL}=${nodeId}`], event: ACTIONS });
  let since: string | undefined;
  while (!signal.aborted) {
    try {
      const query = { filters, ...(since === undefined ? {} : { since }) };
      const stream = await api.open('GET', '/events', { query, silenceMs: 0, signal });
      seen('everything');
      for await (const document of documents(stream)) {
        const { timeNano, Actor } = document as DockerEvent;
        if (timeNano !== undefined) since = (timeNano / 1e9).toFixed(9);
        const replica = Actor?.Attributes?.[REPLICA_LABEL];
        if (replica) seen({ replica });
      }
    } catch {
      // The engine is away: the caller learns of it by every other call it makes.
    }
    await sleep(clock, RECONNECT_MS, signal);
  }
}
