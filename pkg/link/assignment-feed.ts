import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import { isResolved, type Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import { REPLICAS_BY_NODE } from '../fleet/index.js';
import { type CacheChange, value } from '../store/index.js';
import { type DispatcherEnv, readReplica } from './dispatcher-env.js';
import { readRestoreEpoch } from './restore-epoch.js';
import type { AssignmentLine, LogRequest, NodeIdentity } from './agent-link.js';

type OnLine = (line: AssignmentLine) => void;

interface OpenStreamsOfNode {
  readonly node: NodeIdentity;
  readonly listeners: Set<OnLine>;
}

const RETRY_MS = 500;

/**
 * The open assignment streams of all agents, fed by one cache subscription: a change costs one look-up however many
 * agents are connected.
 *
 * A stream begins with a snapshot that is at least as new as the stream. A server that has lost etcd would otherwise
 * tell a restarted agent to run a replica that has since moved to another node, and two copies would run.
 */
export class AssignmentFeed {
  readonly #env: DispatcherEnv;
  readonly #open = new Map<string, OpenStreamsOfNode>();
  readonly #unsubscribe: () => void;

  constructor(env: DispatcherEnv) {
    this.#env = env;
    this.#unsubscribe = env.cache.subscribe(change => this.#onChange(change));
  }

  open(node: NodeIdentity, onLine: OnLine): () => void {
    const closed = new AbortController();
    void this.#begin(node, onLine, closed.signal);
    return () => {
      closed.abort();
      const listeners = this.#open.get(node.id)?.listeners;
      listeners?.delete(onLine);
      if (listeners?.size === 0) this.#open.delete(node.id);
    };
  }

  /** Waits until the cache holds every write made before the stream was opened, then sends the snapshot. */
  async #begin(node: NodeIdentity, onLine: OnLine, closed: AbortSignal): Promise<void> {
    const { cache, clock, log } = this.#env;
    for (let fresh = false; !fresh; ) {
      try {
        await cache.barrier();
        fresh = true;
      } catch (thrown) {
        const about = { tenant: node.tenant, node: node.name, error: asError(thrown) };
        log.warn('assignment stream waits: the store is unreachable', about);
        await sleep(clock, RETRY_MS, closed);
      }
      if (closed.aborted) return;
    }
    const streams = this.#open.get(node.id) ?? { node, listeners: new Set() };
    streams.listeners.add(onLine);
    this.#open.set(node.id, streams);
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
    const restoreEpoch = readRestoreEpoch(this.#env.cache);
    const { nodePolicy: policy } = this.#env;
    return {
      type: 'snapshot',
      replicas,
      ...(tickets.length > 0 && { tickets: Object.fromEntries(tickets) }),
      ...(restoreEpoch !== undefined && { restoreEpoch }),
      ...(policy && { policy }),
    };
  }

  /** A replica with unresolved secrets must not get a container, so it is sent only when it retires. */
  #isDue(replica: Replica): boolean {
    return replica.retiringSince !== undefined || isResolved(replica);
  }

  /** A ticket for a replica that has secrets and no reported container. */
  #ticketFor(replica: Replica): string | undefined {
    const { cache, delivery } = this.#env;
    const { tenant, nodeId, uid, resolved, retiringSince } = replica;
    if (!delivery || !resolved || nodeId === undefined || retiringSince !== undefined) return undefined;
    const report = cache.get(keys.report(tenant, nodeId, uid));
    const hasContainer = report !== undefined && value<Report>(report).containerId !== undefined;
    return hasContainer ? undefined : delivery.tickets.issue({ tenant, id: nodeId }, replica);
  }

  close(): void {
    this.#unsubscribe();
    this.#open.clear();
  }

  #onChange({ key, entry, previous }: CacheChange): void {
    if (key.startsWith(ranges.replicas)) {
      const before = previous && readReplica(previous);
      const after = entry && readReplica(entry);
      if (before?.nodeId && before.uid !== after?.uid) this.#send(before.nodeId, { type: 'drop', uid: before.uid });
      if (after?.nodeId && this.#isDue(after)) this.#sendReplica(after, after.nodeId);
    } else if (entry && key === keys.restoreEpoch()) {
      this.#env.log.warn('a restore of the store was declared: agents take its assignments as they are');
      for (const { node } of this.#open.values()) this.#send(node.id, this.#snapshot(node));
    } else if (entry && key.startsWith(ranges.logRequests)) {
      const [, nodeId = ''] = splitKey(key);
      this.#send(nodeId, { type: 'logs', request: value<LogRequest>(entry) });
    }
  }

  #sendReplica(replica: Replica, nodeId: string): void {
    if (!this.#open.has(nodeId)) return; // every server sees every change; only one holds this agent's stream
    const ticket = this.#ticketFor(replica);
    this.#send(nodeId, { type: 'set', replica, ...(ticket !== undefined && { ticket }) });
  }

  #send(nodeId: string, line: AssignmentLine): void {
    for (const onLine of this.#open.get(nodeId)?.listeners ?? []) onLine(line);
  }
}
