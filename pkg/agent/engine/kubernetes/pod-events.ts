import { type Clock, sleep } from '../../../clock/index.js';
import type { Logger } from '../../../log/index.js';
import { readDocuments } from '../../../ndjson/index.js';
import { EngineRefusedFault, type OnEngineEvent } from '../engine.js';
import { NODE_LABEL, REPLICA_LABEL } from '../ownership-labels.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { findCheckDeadline, type Pod, readPodStatus } from './pod-status.js';

const RECONNECT_MS = 500;
/** Until that is repaired, changes are seen with the lists that the agent asks for now and then. */
const REFUSED_MS = 30_000;
const WATCH_SECONDS = 300;

interface EventSource {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeId: string;
}

/** Watches the Pods of one node until aborted; each time the watch opens, `everything` is reported first. */
export async function followPods(source: EventSource, onEvent: OnEngineEvent, signal: AbortSignal): Promise<void> {
  let isLogged = false;
  while (!signal.aborted) {
    let pauseMs = RECONNECT_MS;
    try {
      await watchPods(source, onEvent, signal);
      isLogged = false;
    } catch (thrown) {
      // A cluster that cannot be reached is reported by the other calls of the caller.
      if (thrown instanceof EngineRefusedFault) {
        pauseMs = REFUSED_MS;
        if (!isLogged) source.log.warn('the cluster refuses the watch of Pods: check the Role', { error: thrown });
        isLogged = true;
      }
    }
    await sleep(source.clock, pauseMs, signal);
  }
}

async function watchPods({ api, clock, nodeId }: EventSource, onEvent: OnEngineEvent, signal: AbortSignal) {
  const query = { watch: 'true', labelSelector: `${NODE_LABEL}=${nodeId}`, timeoutSeconds: String(WATCH_SECONDS) };
  const silenceMs = (WATCH_SECONDS + 30) * 1000;
  const chunks = await api.open(await api.path('pods'), { query, silenceMs, signal });
  if (!chunks) return;
  onEvent('everything');
  for await (const change of readDocuments(chunks)) {
    const { type, object: pod } = change as { readonly type: string; readonly object: Pod };
    if (type === 'ERROR') return;
    const replica = pod.metadata.labels?.[REPLICA_LABEL];
    if (!replica) continue;
    onEvent({ replica });
    // No watch event says that a Pod has not become healthy in time.
    const ms = findCheckDeadline(pod) - clock.now();
    const isStarting = readPodStatus(pod, clock.now())?.health === 'starting';
    if (ms > 0 && isStarting) clock.after(ms + 1_000, () => signal.aborted || onEvent({ replica }));
  }
}
