import { expect } from 'chai';

import {
  boundReplicas,
  getWantedReplicas,
  type ScalingRecord,
  type StoredDeployment,
  type StoredScalingPolicy,
} from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { value } from '../../pkg/store/index.js';
import { type SimCluster, TENANTS } from './cluster.js';
import type { History, Invariant, UserIntent } from './history.js';
import { SHOP } from './mix.js';
import { put } from './users.js';

const SCALING = '/api/v1/deployments/{name}/scaling';
const STEP_MS = 15_000;
/** What a replica requests that load moves. */
export const SCALED_RESOURCES = { cpu: '100m' } as const;
const [LEAST, MOST] = [1, 6];
/** Of the cpu that a replica requests, in percent: half of it is aimed at. */
const LOADS = [5, 50, 200] as const;
const SCALED_WITHIN_MS = 240_000;
/** How often users make the autoscaler look again after a step. */
const LOOKS = 6;

/** Load comes and goes, and users move its policy and its number of replicas, every few seconds until `until`. */
export function scaleDeployments(cluster: SimCluster, history: History, until: number, name: string): void {
  const { world } = cluster;
  const isRolled = name === SHOP;
  if (!isRolled) for (const tenant of TENANTS) void ask(cluster, history, draw(cluster, 'create', tenant, name));
  const next = () => {
    world.after(world.between(500, 5_000), 'load moves', () => {
      if (world.time >= until) return;
      const tenant = world.pick(TENANTS);
      const about = { tenant, path: SCALING, params: { name } };
      if (world.chance(0.4)) cluster.load.set(world.pick(LOADS));
      else if (world.chance(0.1)) void cluster.ask({ ...about, method: 'DELETE' });
      else if (isRolled || world.chance(0.5))
        void cluster.ask({ ...about, method: 'PUT', document: drawPolicy(cluster) });
      else void ask(cluster, history, draw(cluster, world.pick(['create', 'change', 'change']), tenant, name));
      next();
    });
  };
  next();
}

function drawPolicy({ world }: SimCluster) {
  const minReplicas = world.pick([LEAST, LEAST, 2]);
  const maxReplicas = world.pick([2, 4, MOST]);
  return { minReplicas, maxReplicas, targetCpuPercent: 50, stabilization: world.pick(['0s', '5s', '20s']) };
}

function draw({ world }: SimCluster, kind: UserIntent['kind'], tenant: string, name: string): UserIntent {
  const op = `scale-${world.random.uuid()}`;
  const image = 'registry.test/pool:1';
  const replicas = world.pick([0, 1, 2, 3]);
  return { op, kind, tenant, name, spec: { image, replicas, labels: { op }, resources: SCALED_RESOURCES } };
}

async function ask(cluster: SimCluster, history: History, intent: UserIntent): Promise<void> {
  history.answered(intent, (await put(cluster, intent)).told);
}

/** Ends the scaling of everything, and nobody measures any more. */
export async function endScaling(cluster: SimCluster): Promise<void> {
  cluster.load.set(undefined);
  for (const { key } of (await cluster.server.list(ranges.scalingPolicies)).entries) {
    const [tenant = '', name = ''] = splitKey(key);
    void cluster.ask({ method: 'DELETE', path: SCALING, tenant, params: { name } });
  }
}

/** A load that stays moves the number of replicas to its bound, and no further, and there again after another number was sent. */
export async function expectScaled(
  cluster: SimCluster,
  history: History,
  inspect: () => void,
  name: string,
): Promise<void> {
  const { world } = cluster;
  const isHigh = world.chance(0.75);
  const policy = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 50, stabilization: '20s' };
  const wanted = isHigh ? policy.maxReplicas : policy.minReplicas;
  cluster.load.set(isHigh ? 200 : 5);
  const scaled = history
    .all<StoredDeployment>(ranges.deployments)
    .filter(each => each.name === name && each.replicas > 0 && each.resources?.cpu && isPlaced(each, history));
  const settle = async () => {
    for (const from = world.time; ; ) {
      for (const { metadata } of scaled) {
        // The order that ended the policy of the storm may have been lost.
        const held = history.get<StoredScalingPolicy>(keys.scalingPolicy(metadata.tenant, name));
        if (held?.minReplicas === policy.minReplicas && held.maxReplicas === policy.maxReplicas) continue;
        const about = { tenant: metadata.tenant, path: SCALING, params: { name } };
        void cluster.ask({ ...about, method: 'PUT', document: policy });
      }
      await world.pass(1_000, inspect);
      const counts = scaled.map(({ metadata }) => countWanted(metadata.tenant, name, history));
      if (counts.every(count => count === wanted)) return;
      if (world.time - from >= SCALED_WITHIN_MS)
        expect(counts, 'replicas wanted').to.deep.equal(scaled.map(() => wanted));
    }
  };
  await settle();
  if (!isHigh) return;
  for (const { metadata } of scaled) void change(cluster, metadata.tenant, name, { replicas: 2 });
  // Whatever wakes the autoscaler, it does not make the next step before its time.
  for (let turn = 0; turn < LOOKS; turn++) {
    await world.pass(2_000, inspect);
    for (const { metadata } of scaled) void change(cluster, metadata.tenant, name, { labels: { turn: String(turn) } });
  }
  await settle();
}

function isPlaced({ name, metadata }: StoredDeployment, history: History): boolean {
  return history.all<Replica>(ranges.replicasOf(metadata.tenant, name)).some(({ nodeId }) => nodeId !== undefined);
}

function change(cluster: SimCluster, tenant: string, name: string, spec: UserIntent['spec']) {
  return put(cluster, { op: `scale-${cluster.world.random.uuid()}`, kind: 'change', tenant, name, spec });
}

/** How many replicas the deployment of a tenant is to have now. */
function countWanted(tenant: string, name: string, history: History): number | undefined {
  const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name));
  const policy = history.get<StoredScalingPolicy>(keys.scalingPolicy(tenant, name));
  return deployment && getWantedReplicas(deployment, policy, history.get<ScalingRecord>(keys.scaling(tenant, name)));
}

/**
 * The number of replicas is within the bounds of the policy, two steps are never within 15 seconds, and another number in the spec is
 * where it goes on from.
 */
export const keepsScaling: Invariant = (changes, history) => {
  for (const { key, before, entry } of changes) {
    if (!entry || !key.startsWith(ranges.scalings)) continue;
    const [tenant = '', name = ''] = splitKey(key);
    const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name))!;
    const policy = history.get<StoredScalingPolicy>(keys.scalingPolicy(tenant, name));
    const is = value<ScalingRecord>(entry);
    const stored = before && value<ScalingRecord>(before);
    const was = stored?.uid === is.uid ? stored : undefined;
    expect(policy?.metadata.uid, `whose policy scales ${name}`).to.equal(is.uid);
    const isTold = changes.some(change => change.key.startsWith(ranges.events) && change.entry);
    if (is.scaledAt !== was?.scaledAt) expect(isTold, `a step of ${name} has its event`).to.equal(true);
    expect(is.base, `the replicas of ${name} that its number was decided from`).to.equal(deployment.replicas);
    if (is.base === 0 || !policy) continue;
    expect(is.replicas, `replicas of ${name}, by its policy`).to.be.within(policy.minReplicas, policy.maxReplicas);
    if (was && was.base !== is.base) {
      expect(is.replicas, `replicas of ${name} after another number was sent`).to.equal(boundReplicas(is.base, policy));
    } else if (was?.scaledAt && is.replicas !== was.replicas && is.reason !== 'scaling_bounds') {
      const apart = Date.parse(is.scaledAt ?? '') - Date.parse(was.scaledAt);
      expect(apart, `ms between two steps of ${name}`).to.be.at.least(STEP_MS);
    }
  }
};
