import { type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type CanaryOrder, computeContentHash, type RolloutRecord } from '../../crds/rollout/index.js';
import { buildRevision } from '../../pkg/history/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

const healthCheck = { type: 'exec', command: ['check'] } as const;
export const canaryRollout = {
  maxSurge: 1,
  maxUnavailable: 0,
  progressDeadline: '1m',
  autoRollback: true,
  canary: { replicas: 1, hold: '5m' },
};

/** A cluster of three nodes, and what tests of canaries do with the deployment `web` on it. */
export class CanaryLab {
  readonly cluster = new TestCluster();
  /** The leases of its nodes, by their ids. */
  readonly leases = new Map<string, string>();
  leader = this.cluster.controllers('a');

  async start(): Promise<this> {
    for (const name of ['n1', 'n2', 'n3']) this.leases.set(`node_${name}`, await this.cluster.enrol(name));
    await this.cluster.clock.pass(2_000);
    return this;
  }

  make(change: Partial<StoredDeployment>): StoredDeployment {
    return makeDeployment({ replicas: 3, healthCheck, rollout: canaryRollout, ...change });
  }

  /** Stores a revision as the API does: the record and its archive entry. */
  async apply(generation: number, change: Partial<StoredDeployment> = {}): Promise<void> {
    const deployment = this.make(change);
    const updatedAt = new Date(this.cluster.clock.now()).toISOString();
    const { puts } = buildRevision(
      toSpec(deployment),
      specHash => ({ ...makeMetadata('dep_1', generation), updatedAt, specHash }),
      { change: generation === 1 ? 'create' : 'update', by: 'tok', operation: `op-${generation}`, alterations: [] },
    );
    for (const { key, bytes } of puts) await this.cluster.put(key, JSON.parse(bytes.toString()));
  }

  /** A complete revision 1 of web:1, and a canary of web:2 that is healthy. */
  async begin(change: Partial<StoredDeployment> = {}, next: Partial<StoredDeployment> = {}): Promise<void> {
    this.breakImage('none');
    await this.apply(1, change);
    await this.cluster.clock.pass(10_000);
    await this.apply(2, { image: 'web:2', ...change, ...next });
    await this.cluster.clock.pass(20_000);
  }

  stored(): Promise<StoredDeployment | undefined> {
    return this.cluster.get(keys.deployment(TENANT, 'web'));
  }

  recorded(): Promise<RolloutRecord | undefined> {
    return this.cluster.get(keys.rollout(TENANT, 'web'));
  }

  replicas(): Promise<Replica[]> {
    return this.cluster.all(ranges.replicasOf(TENANT, 'web'));
  }

  async images(): Promise<string[]> {
    const staying = (await this.replicas()).filter(each => !each.retiringSince);
    return staying.map(each => each.template.image).sort();
  }

  async events(type: string): Promise<StoredEvent[]> {
    const events = await this.cluster.all<StoredEvent>(ranges.events);
    return events.filter(event => event.type === `deployment.${type}`);
  }

  breakImage(image: string): void {
    this.cluster.healthOf = ({ template }) => (template.image === image ? 'unhealthy' : 'healthy');
  }

  /** Has the agents say how every container is now. */
  async reportAll(): Promise<void> {
    for (const replica of await this.replicas()) if (replica.nodeId) await this.cluster.report(replica);
  }

  /** Orders something of the canary that is held, or of one that is restored with its deployment. */
  async order(action: CanaryOrder['action'], restored?: Pick<CanaryOrder, 'beside'> & Partial<StoredDeployment>) {
    const { beside, ...change } = restored ?? {};
    const deployment = restored ? this.make(change) : (await this.stored())!;
    const given: CanaryOrder = {
      uid: deployment.metadata.uid,
      contentHash: computeContentHash(deployment),
      action,
      ...(beside && { beside }),
      by: 'tok_ops',
      at: new Date(this.cluster.clock.now()).toISOString(),
    };
    await this.cluster.put(keys.canaryOrder(TENANT, 'web'), given);
  }
}
