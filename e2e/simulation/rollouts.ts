import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import { value } from '../../pkg/store/index.js';
import { BAD_IMAGE, type SimCluster, TENANTS } from './cluster.js';
import type { History, UserIntent } from './history.js';
import { SHOP } from './mix.js';
import { SCALED_RESOURCES } from './scaling.js';
import { put } from './users.js';

const CANARY = '/api/v1/deployments/{name}/canary';
const GOOD = 'registry.test/shop:1';
const healthCheck = { type: 'exec', command: ['check'] };
const DEADLINE = '20s';
const plain = { maxSurge: 1, maxUnavailable: 0, progressDeadline: DEADLINE, autoRollback: true };

/** Users roll out good and bad images, with and without canaries, and decide about those, every few seconds until `until`. */
export function rollDeployments(cluster: SimCluster, history: History, until: number): void {
  const { world } = cluster;
  for (const tenant of TENANTS) {
    const first = draw(cluster, 'create', tenant, GOOD);
    void put(cluster, first).then(({ told }) => history.answered(first, told));
  }
  const next = () => {
    world.after(world.between(500, 6_000), 'a user rolls out', () => {
      if (world.time >= until) return;
      const tenant = world.pick(TENANTS);
      if (world.chance(0.35)) void decide(cluster, tenant);
      else {
        const image = world.pick([
          GOOD,
          'registry.test/shop:2',
          'registry.test/shop:3',
          `registry.test/shop${BAD_IMAGE}`,
        ]);
        const intent = draw(cluster, world.pick(['create', 'change', 'change', 'change']), tenant, image);
        void put(cluster, intent).then(({ told }) => history.answered(intent, told));
      }
      next();
    });
  };
  next();
}

function decide(cluster: SimCluster, tenant: string): Promise<unknown> {
  const document = { action: cluster.world.pick(['promote', 'promote', 'abort']) };
  return cluster.ask({ method: 'POST', path: CANARY, tenant, params: { name: SHOP }, document });
}

function draw({ world, usageMs }: SimCluster, kind: UserIntent['kind'], tenant: string, image: string): UserIntent {
  const op = `roll-${world.random.uuid()}`;
  const maxSurge = world.pick([0, 1, 1, 2]);
  const rollout = {
    maxSurge,
    maxUnavailable: maxSurge === 0 ? 1 : world.pick([0, 0, 1]),
    progressDeadline: DEADLINE,
    autoRollback: world.chance(0.8),
    ...(world.chance(0.7) && {
      canary: { replicas: world.pick([1, 1, 2, '50%']), ...drawHold(world.pick([0, 5, 12])) },
    }),
  };
  const replicas = world.pick([1, 2, 3, 3]);
  const spec = {
    image,
    replicas,
    labels: { op },
    healthCheck,
    rollout,
    ...(usageMs && { resources: SCALED_RESOURCES }),
  };
  return { op, kind, tenant, name: SHOP, spec };
}

const drawHold = (seconds: number) => (seconds === 0 ? {} : { hold: `${seconds}s` });

/** Has every deployment that was rolled out run a good image in the end, without a canary that waits for people. */
export async function endRollouts(cluster: SimCluster): Promise<void> {
  for (const tenant of TENANTS) {
    const entry = await cluster.server.get(keys.deployment(tenant, SHOP));
    if (!entry) continue;
    const { image, rollout, metadata } = value<StoredDeployment>(entry);
    if (metadata.deletedAt || (!image.endsWith(BAD_IMAGE) && !rollout?.canary)) continue;
    const op = `repair-${metadata.uid}-${metadata.generation}`;
    void put(cluster, { op, kind: 'change', tenant, name: SHOP, spec: { image: GOOD, rollout: plain } });
  }
}
