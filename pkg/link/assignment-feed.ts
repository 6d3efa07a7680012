import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import { type AssignedNetwork, type StoredNetwork, toAssignedNetwork } from '../../crds/network/index.js';
import type { NodePresence } from '../../crds/node/index.js';
import { isResolved, type Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import { REPLICAS_BY_NODE } from '../fleet/index.js';
import { type CacheChange, value } from '../store/index.js';
import { listNetworksOf } from './network-intake.js';
import { listAssignedVolumes, listConcerned } from './volume-intake.js';
import { type DispatcherEnv, readReplica } from './dispatcher-env.js';
import { readConfirmed, readRestoreEpoch } from './restore-epoch.js';
import { isSetBack, noteSetBack, provePosition, readStorePosition, wasSetBack } from './store-history.js';
import { ANY_NODE, type AssignmentLine, type LogRequest, type NodeIdentity } from './agent-link.js';
import { type AgentIdentity, isHeldByOther } from './presence.js';

type OnLine = (line: AssignmentLine) => void;

interface OpenStream {
  readonly node: AgentIdentity;
  readonly onLine: OnLine;
  readonly onRefused: () => void;
}

const RETRY_MS = 500;

/**
 * The open assignment streams of all agents, fed by one cache subscription: a change costs one look-up however many
 * agents are connected.
 *
 * A stream begins with a snapshot that is at least as new as the stream. A server that has lost etcd would otherwise
 * order a restarted agent to run a replica that has since moved to another node, and two copies would run.
 */
export class AssignmentFeed {
  readonly #env: DispatcherEnv;
  readonly #open = new Map<string, Set<OpenStream>>();
  readonly #subscriptions: readonly (() => void)[];

  constructor(env: DispatcherEnv) {
    this.#env = env;
    this.#subscriptions = [
      env.cache.subscribe(change => this.#onChange(change)),
      env.cache.onReset(revision => this.#onReset(revision)),
    ];
  }

  /** `onRefused` is called when another run of the agent has the node. */
  open(node: AgentIdentity, onLine: OnLine, onRefused: () => void): () => void {
    const closed = new AbortController();
    const stream: OpenStream = { node, onLine, onRefused };
    void this.#begin(stream, closed.signal);
    return () => {
      closed.abort();
      this.#remove(stream);
    };
  }

  #remove(stream: OpenStream): void {
    const streams = this.#open.get(stream.node.id);
    streams?.delete(stream);
    if (streams?.size === 0) this.#open.delete(stream.node.id);
  }

  /** Waits until the cache holds every write made before the stream was opened, then sends the snapshot. */
  async #begin(stream: OpenStream, closed: AbortSignal): Promise<void> {
    const { node, onLine, onRefused } = stream;
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
    if (isHeldByOther(this.#env, node)) return onRefused();
    const streams = this.#open.get(node.id) ?? new Set();
    this.#open.set(node.id, streams.add(stream));
    onLine(this.#snapshot(node));
    for (const entry of cache.list(ranges.logRequestsOf(node.tenant, node.id))) {
      onLine({ type: 'logs', request: value<LogRequest>(entry) });
    }
    for (const entry of cache.list(ranges.logRequestsOf(node.tenant, ANY_NODE))) {
      onLine({ type: 'kept-logs', request: value<LogRequest>(entry) });
    }
  }

  #snapshot(node: NodeIdentity): AssignmentLine {
    const assigned = this.#env.cache.by(REPLICAS_BY_NODE, node.id).map(readReplica);
    const replicas = assigned.filter(replica => replica.tenant === node.tenant && this.#isDue(replica));
    const tickets = replicas.flatMap(replica => {
      const ticket = this.#ticketFor(replica);
      return ticket === undefined ? [] : [[replica.uid, ticket] as const];
    });
    const pullTickets = replicas.flatMap(replica => {
      const ticket = this.#pullTicketFor(replica);
      return ticket === undefined ? [] : [[replica.uid, ticket] as const];
    });
    const restoreEpoch = readRestoreEpoch(this.#env.cache);
    const confirmed = readConfirmed(this.#env.cache, node.id);
    const { nodePolicy: policy } = this.#env;
    return {
      type: 'snapshot',
      replicas,
      ...(tickets.length > 0 && { tickets: Object.fromEntries(tickets) }),
      pullTickets: Object.fromEntries(pullTickets),
      ...(restoreEpoch !== undefined && { restoreEpoch }),
      ...(confirmed !== undefined && { confirmed }),
      store: provePosition(readStorePosition(this.#env.cache), this.#env.keyring),
      ...(isSetBack(this.#env.cache) && { isSetBack: true as const }),
      ...(policy && { policy }),
      networks: this.#networksOf(node),
      volumes: listAssignedVolumes(this.#env, node),
    };
  }

  #networksOf(node: NodeIdentity): readonly AssignedNetwork[] {
    return listNetworksOf(this.#env, node).map(entry => toAssignedNetwork(value<StoredNetwork>(entry)));
  }

  /** A replica with unresolved secrets must not get a container, so it is sent only when it retires. */
  #isDue(replica: Replica): boolean {
    return replica.retiringSince !== undefined || isResolved(replica);
  }

  /** A ticket for a replica that has secrets and no reported container. */
  #ticketFor(replica: Replica): string | undefined {
    const { delivery } = this.#env;
    const { tenant, nodeId, resolved } = replica;
    if (!delivery || !resolved || nodeId === undefined || !this.#awaitsContainer(replica)) return undefined;
    return delivery.tickets.issue({ tenant, id: nodeId }, replica);
  }

  /** A ticket for the login to the registry of a replica that has no reported container. */
  #pullTicketFor(replica: Replica): string | undefined {
    const { delivery } = this.#env;
    const { tenant, nodeId } = replica;
    if (!delivery?.registries || nodeId === undefined || !this.#awaitsContainer(replica)) return undefined;
    return delivery.tickets.issue({ tenant, id: nodeId }, replica, 'pull');
  }

  #awaitsContainer({ tenant, nodeId = '', uid, retiringSince }: Replica): boolean {
    if (retiringSince !== undefined) return false;
    const report = this.#env.cache.get(keys.report(tenant, nodeId, uid));
    return report === undefined || value<Report>(report).containerId === undefined;
  }

  close(): void {
    for (const end of this.#subscriptions) end();
    this.#open.clear();
  }

  /**
   * The cache is about to show another state. Where it is older than what was sent, its differences are no changes to be sent: the streams end, and
   * each agent judges the snapshot of its next one.
   */
  #onReset(revision: number): void {
    const { cache, log } = this.#env;
    const seen = readStorePosition(cache);
    if (seen.revision === 0 || !wasSetBack(seen, { ...seen, revision })) return;
    const streams = [...this.#open.values()].flatMap(each => [...each]);
    this.#open.clear();
    for (const { onRefused } of streams) onRefused();
    noteSetBack(this.#env, seen).catch((thrown: unknown) =>
      log.warn('that etcd was set back cannot be noted; agents that have seen a newer state notice it themselves', {
        error: asError(thrown),
      }),
    );
  }

  #onChange(change: CacheChange): void {
    const { key, entry, previous } = change;
    if (key.startsWith(ranges.replicas)) {
      const before = previous && readReplica(previous);
      const after = entry && readReplica(entry);
      if (before?.nodeId && before.uid !== after?.uid) this.#send(before.nodeId, { type: 'drop', uid: before.uid });
      if (after?.nodeId && this.#isDue(after)) this.#sendReplica(after, after.nodeId);
    } else if (key.startsWith(ranges.networks)) {
      const ids = [previous, entry].flatMap(each => (each ? [value<StoredNetwork>(each).nodeId] : []));
      for (const id of new Set(ids)) {
        for (const { node, onLine } of this.#open.get(id) ?? []) {
          onLine({ type: 'networks', networks: this.#networksOf(node) });
        }
      }
    } else if ([ranges.volumes, ranges.volumeStatuses, ranges.nodes].some(range => key.startsWith(range))) {
      for (const id of listConcerned(this.#env, change)) this.#sendVolumes(id);
    } else if (entry && key === keys.setBack()) {
      this.#sendSnapshots();
    } else if (entry && key === keys.restoreEpoch()) {
      this.#env.log.warn('a restore of the store was declared: agents take its assignments as they are');
      this.#sendSnapshots();
    } else if (entry && key.startsWith(ranges.alive)) {
      this.#endOthers(value<NodePresence>(entry).id);
    } else if (entry && key.startsWith(ranges.logRequests)) {
      const [tenant, nodeId = ''] = splitKey(key);
      const request = value<LogRequest>(entry);
      if (nodeId !== ANY_NODE) return this.#send(nodeId, { type: 'logs', request });
      for (const streams of this.#open.values()) {
        for (const { node, onLine } of streams) if (node.tenant === tenant) onLine({ type: 'kept-logs', request });
      }
    }
  }

  #sendSnapshots(): void {
    for (const streams of this.#open.values()) for (const { node, onLine } of streams) onLine(this.#snapshot(node));
  }

  #sendVolumes(nodeId: string): void {
    for (const { node, onLine } of this.#open.get(nodeId) ?? []) {
      onLine({ type: 'volumes', volumes: listAssignedVolumes(this.#env, node) });
    }
  }

  #sendReplica(replica: Replica, nodeId: string): void {
    if (!this.#open.has(nodeId)) return; // every server sees every change; only one holds this agent's stream
    const ticket = this.#ticketFor(replica);
    const pullTicket = this.#pullTicketFor(replica);
    const tickets = { ...(ticket !== undefined && { ticket }), ...(pullTicket !== undefined && { pullTicket }) };
    this.#send(nodeId, { type: 'set', replica, ...tickets });
  }

  #send(nodeId: string, line: AssignmentLine): void {
    for (const { onLine } of this.#open.get(nodeId) ?? []) onLine(line);
  }

  /** Ends the streams of runs that no longer have their node. */
  #endOthers(nodeId: string): void {
    for (const stream of this.#open.get(nodeId) ?? []) {
      if (!isHeldByOther(this.#env, stream.node)) continue;
      this.#remove(stream);
      stream.onRefused();
    }
  }
}
