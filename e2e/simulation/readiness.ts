import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import { type Entry, value } from '../../pkg/store/index.js';
import type { History, StoreChange } from './history.js';
import { LATELY_MS } from './wanted.js';

/** Which containers are ready, or were lately, and where nodes were drained lately. */
export class ReadyReplicas {
  readonly #clock: { readonly time: number };
  readonly #lastReady = new Map<string, number>();
  readonly #lastDrained = new Map<string, number>();
  readonly #readySince = new Map<string, number>();
  readonly #nodeSince = new Map<string, number>();

  constructor(clock: { readonly time: number }) {
    this.#clock = clock;
  }

  note(changes: readonly StoreChange[]): void {
    for (const { key, before, entry } of changes) {
      if (key.startsWith(ranges.nodeStatuses)) this.#noteDrain(key, [before, entry]);
      if (!key.startsWith(ranges.reports)) continue;
      const was = before && value<Report>(before);
      const is = entry && value<Report>(entry);
      const { replica } = (is ?? was)!;
      if (isReady(is) || isReady(was)) this.#lastReady.set(replica, this.#clock.time);
      if (!isReady(is)) this.#readySince.delete(replica);
      else if (!isReady(was) || beginsAnew(was, is)) this.#readySince.set(replica, this.#clock.time);
    }
  }

  /** A drain may add one replica to those of a canary. */
  countDrainSurplus(tenant: string): number {
    return this.#clock.time - (this.#lastDrained.get(tenant) ?? -Infinity) < LATELY_MS ? 1 : 0;
  }

  #noteDrain(key: string, entries: readonly (Entry | undefined)[]): void {
    this.#nodeSince.set(key, this.#clock.time);
    const isDrained = entries.some(entry => entry && value<NodeStatus>(entry).status === 'draining');
    if (isDrained) this.#lastDrained.set(splitKey(key)[0]!, this.#clock.time);
  }

  isNow({ tenant, nodeId, uid }: Replica, history: History): boolean {
    return nodeId !== undefined && isReady(history.get<Report>(keys.report(tenant, nodeId, uid)));
  }

  /** Whether a replica has been ready for so long, on a node that has been the same for so long, that every loop knows it. */
  isSettled(replica: Replica, history: History): boolean {
    const node = history.node(replica.nodeId ?? '');
    const nodeSince = node && this.#nodeSince.get(keys.nodeStatus(replica.tenant, node.name));
    const since = Math.max(this.#readySince.get(replica.uid) ?? Infinity, nodeSince ?? Infinity);
    return this.isNow(replica, history) && this.#clock.time - since >= LATELY_MS;
  }

  /** Replicas of a deployment that are ready or were lately, those that are gone since included. */
  listLately({ metadata }: StoredDeployment, history: History): readonly Replica[] {
    const known = [...this.#lastReady.keys()].flatMap(uid => history.replica(uid) ?? []);
    return known.filter(each => each.deploymentUid === metadata.uid && this.wasLately(each, history));
  }

  wasLately(replica: Replica, history: History): boolean {
    if (this.isNow(replica, history)) return true;
    return this.#clock.time - (this.#lastReady.get(replica.uid) ?? -Infinity) < LATELY_MS;
  }
}

/** An agent that starts again counts from then on how long a container without a health check has run. */
function beginsAnew(was: Report | undefined, is: Report | undefined): boolean {
  return is?.health === 'none' && was?.since !== is.since;
}

export function listStaying({ name, metadata }: StoredDeployment, history: History): readonly Replica[] {
  return history
    .entries(ranges.replicasOf(metadata.tenant, name))
    .map(entry => value<Replica>(entry))
    .filter(({ retiringSince, deploymentUid }) => !retiringSince && deploymentUid === metadata.uid);
}

/** The deployment of a replica, while it is to be there. */
export function findUpDeployment({ tenant, deployment: name, deploymentUid }: Replica, history: History) {
  const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name));
  return deployment?.metadata.uid === deploymentUid && isUp(deployment) ? deployment : undefined;
}

/** Whether a deployment is to run at all. */
export function isUp({ metadata, replicas }: StoredDeployment): boolean {
  return metadata.deletedAt === undefined && replicas > 0;
}
