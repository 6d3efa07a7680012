import { type Chronicle } from './chronicle.js';
import { type Cluster, TENANTS } from './cluster.js';
import { type Ask, ask, type Told } from './model-api.js';

const NAMES = ['web', 'db', 'ledger'] as const;
const KINDS = ['create', 'create', 'change', 'change', 'change', 'delete'] as const;

/** Users ask for something every second or so, until `until`, and remember what they were told. */
export function useCluster(cluster: Cluster, chronicle: Chronicle, until: number): void {
  let asked = 0;
  const next = () => {
    const { world } = cluster;
    if (world.time >= until) return;
    world.after(world.between(100, 3_000), 'a user asks', () => {
      const wish = draw(cluster, `op-${++asked}`);
      void put(cluster, wish).then(told => chronicle.answered(wish, told));
      next();
    });
  };
  next();
}

function draw({ world }: Cluster, op: string): Ask {
  const name = world.pick(NAMES);
  const spec = {
    image: `registry.test/${name}:${world.pick(['1', '2', '3'])}`,
    replicas: world.pick([0, 1, 1, 2, 3]),
    ...(name === 'db' && { hostPort: 5432 }),
    ...(name === 'ledger' && { country: world.pick(['DE', 'DE', 'FR']) }),
  };
  return { op, kind: world.pick(KINDS), tenant: world.pick(TENANTS), name, spec };
}

/** A server that dies before it has answered leaves its user without an answer. */
function put({ world, servers }: Cluster, wish: Ask): Promise<Told> {
  const answering = servers.filter(({ life }) => life.alive);
  if (answering.length === 0) return Promise.resolve('refused');
  const { life, store } = world.pick(answering);
  return new Promise(resolve => {
    const forget = life.onEnd(() => resolve('unknown'));
    void ask({ store, clock: life.clock, random: life.random }, wish).then(resolve).finally(forget);
  });
}
