import { ranges } from '../../crds/keys/index.js';
import { type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, type CacheChange, value } from '../store/index.js';
import { REPLICAS_BY_NODE, replicaOf } from './desk-indexes.js';
import type { AssignmentLine, LogRequest } from './messages.js';
import type { NodeIdentity } from './node-identity.js';

type OnLine = (line: AssignmentLine) => void;

const RETRY_MS = 500;

/** What the streams work with. */
export interface StreamsEnv {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The open streams of all agents, fed by one subscription: a change costs one look-up, however many listen.
 *
 * A stream begins with a snapshot that is not older than the stream. A server that has lost the store would otherwise
 * tell a restarted agent to run what has long moved to another node, and there would be two of it.
 */
export class AssignmentStreams {
  readonly #env: StreamsEnv;
  readonly #open = new Map<string, Set<OnLine>>();
  readonly #unsubscribe: () => void;

  constructor(env: StreamsEnv) {
    this.#env = env;
    this.#unsubscribe = env.cache.subscribe(change => this.#tell(change));
  }

  open(node: NodeIdentity, onLine: OnLine): () => void {
    const left = new AbortController();
    void this.#begin(node, onLine, left.signal);
    return () => {
      left.abort();
      const listeners = this.#open.get(node.id);
      listeners?.delete(onLine);
      if (listeners?.size === 0) this.#open.delete(node.id);
    };
  }

  /** Waits until the cache shows all that was stored before the stream was opened, then hands over everything. */
  async #begin(node: NodeIdentity, onLine: OnLine, left: AbortSignal): Promise<void> {
    const { cache, clock, log } = this.#env;
    for (let fresh = false; !fresh; ) {
      try {
        await cache.barrier();
        fresh = true;
      } catch (thrown) {
        log.warn('assignments wait for the store', { tenant: node.tenant, node: node.name, error: asError(thrown) });
        await sleep(clock, RETRY_MS, left);
      }
      if (left.aborted) return;
    }
    this.#open.set(node.id, (this.#open.get(node.id) ?? new Set()).add(onLine));
    const assigned = cache.by(REPLICAS_BY_NODE, node.id).map(replicaOf);
    onLine({ type: 'snapshot', replicas: assigned.filter(({ tenant }) => tenant === node.tenant) });
    for (const entry of cache.list(`${ranges.of(ranges.logRequests, node.tenant)}${node.id}/`)) {
      onLine({ type: 'logs', request: value<LogRequest>(entry) });
    }
  }

  close(): void {
    this.#unsubscribe();
    this.#open.clear();
  }

  #tell({ key, entry, previous }: CacheChange): void {
    if (key.startsWith(ranges.replicas)) {
      const before = previous && replicaOf(previous);
      const after = entry && replicaOf(entry);
      if (before?.nodeId && before.uid !== after?.uid) this.#send(before.nodeId, { type: 'drop', uid: before.uid });
      if (after?.nodeId) this.#send(after.nodeId, { type: 'set', replica: after });
    } else if (entry && key.startsWith(ranges.logRequests)) {
      const [, , nodeId = ''] = key.split('/');
      this.#send(nodeId, { type: 'logs', request: value<LogRequest>(entry) });
    }
  }

  #send(nodeId: string, line: AssignmentLine): void {
    for (const onLine of this.#open.get(nodeId) ?? []) onLine(line);
  }
}
