import { ranges } from '../../crds/keys/index.js';
import { type Cache, type CacheChange, value } from '../store/index.js';
import { REPLICAS_BY_NODE, replicaOf } from './desk-indexes.js';
import type { AssignmentLine, LogRequest } from './messages.js';
import type { NodeIdentity } from './node-identity.js';

type OnLine = (line: AssignmentLine) => void;

/** The open streams of all agents, fed by one subscription: a change costs one look-up, however many listen. */
export class AssignmentStreams {
  readonly #cache: Cache;
  readonly #open = new Map<string, Set<OnLine>>();
  readonly #unsubscribe: () => void;

  constructor(cache: Cache) {
    this.#cache = cache;
    this.#unsubscribe = cache.subscribe(change => this.#tell(change));
  }

  open(node: NodeIdentity, onLine: OnLine): () => void {
    const listeners = this.#open.get(node.id) ?? new Set();
    this.#open.set(node.id, listeners.add(onLine));

    const assigned = this.#cache.by(REPLICAS_BY_NODE, node.id).map(replicaOf);
    onLine({ type: 'snapshot', replicas: assigned.filter(({ tenant }) => tenant === node.tenant) });
    for (const entry of this.#cache.list(`${ranges.of(ranges.logRequests, node.tenant)}${node.id}/`)) {
      onLine({ type: 'logs', request: value<LogRequest>(entry) });
    }
    return () => {
      listeners.delete(onLine);
      if (listeners.size === 0 && this.#open.get(node.id) === listeners) this.#open.delete(node.id);
    };
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
