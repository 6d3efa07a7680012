import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import { isResolved, type Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import { REPLICAS_BY_NODE } from '../fleet/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, type CacheChange, value } from '../store/index.js';
import { type DeliveryEnv, readReplica } from './dispatcher-env.js';
import type { AssignmentLine, LogRequest, NodeIdentity } from './messages.js';

type OnLine = (line: AssignmentLine) => void;

const RETRY_MS = 500;

/** What the streams work with. */
export interface StreamsEnv {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly log: Logger;
  readonly delivery?: DeliveryEnv;
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
    onLine(this.#snapshot(node));
    for (const entry of cache.list(ranges.logRequestsOf(node.tenant, node.id))) {
      onLine({ type: 'logs', request: value<LogRequest>(entry) });
    }
  }

  #snapshot(node: NodeIdentity): AssignmentLine {
    const assigned = this.#env.cache.by(REPLICAS_BY_NODE, node.id).map(readReplica);
    const replicas = assigned.filter(replica => replica.tenant === node.tenant && this.#isDue(replica));
    const tickets = replicas.flatMap(replica => {
      const ticket = this.#ticketFor(replica);
      return ticket === undefined ? [] : [[replica.uid, ticket] as const];
    });
    return { type: 'snapshot', replicas, ...(tickets.length > 0 && { tickets: Object.fromEntries(tickets) }) };
  }

  /** One whose secrets are not resolved has no container, and must not get one: its agent hears of it only to let go. */
  #isDue(replica: Replica): boolean {
    return replica.retiringSince !== undefined || isResolved(replica);
  }

  /** For a replica with secrets of which its agent reports no container. */
  #ticketFor(replica: Replica): string | undefined {
    const { cache, delivery } = this.#env;
    const { tenant, nodeId, uid, resolved, retiringSince } = replica;
    if (!delivery || !resolved || nodeId === undefined || retiringSince !== undefined) return undefined;
    const report = cache.get(keys.report(tenant, nodeId, uid));
    const isMade = report !== undefined && value<Report>(report).containerId !== undefined;
    return isMade ? undefined : delivery.tickets.issue({ tenant, id: nodeId }, replica);
  }

  close(): void {
    this.#unsubscribe();
    this.#open.clear();
  }

  #tell({ key, entry, previous }: CacheChange): void {
    if (key.startsWith(ranges.replicas)) {
      const before = previous && readReplica(previous);
      const after = entry && readReplica(entry);
      if (before?.nodeId && before.uid !== after?.uid) this.#send(before.nodeId, { type: 'drop', uid: before.uid });
      if (after?.nodeId && this.#isDue(after)) this.#tellOf(after, after.nodeId);
    } else if (entry && key.startsWith(ranges.logRequests)) {
      const [, nodeId = ''] = splitKey(key);
      this.#send(nodeId, { type: 'logs', request: value<LogRequest>(entry) });
    }
  }

  #tellOf(replica: Replica, nodeId: string): void {
    if (!this.#open.has(nodeId)) return; // every server hears of every change: one of them has the agent
    const ticket = this.#ticketFor(replica);
    this.#send(nodeId, { type: 'set', replica, ...(ticket !== undefined && { ticket }) });
  }

  #send(nodeId: string, line: AssignmentLine): void {
    for (const onLine of this.#open.get(nodeId) ?? []) onLine(line);
  }
}
