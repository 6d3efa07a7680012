import type { History, UserIntent } from './history.js';
import { type SimCluster, TENANTS } from './cluster.js';
import type { Answer, Request } from './front.js';
import { LAN } from './networks.js';
import { CREDENTIAL } from './secrets.js';

const NAMES = ['web', 'db', 'ledger', 'safe', 'safe', 'mesh'] as const;
const KINDS = ['create', 'create', 'change', 'change', 'change', 'delete'] as const;
const DEPLOYMENTS = '/api/v1/deployments';
const DEPLOYMENT = '/api/v1/deployments/{name}';

/** Users send a request every second or so, until `until`, and record the answers. `prefix` names their operations. */
export function useCluster(cluster: SimCluster, history: History, until: number, prefix = 'op'): void {
  let asked = 0;
  const next = () => {
    const { world } = cluster;
    if (world.time >= until) return;
    world.after(world.between(100, 3_000), 'a user asks', () => {
      const wish = draw(cluster, `${prefix}-${++asked}`);
      void put(cluster, wish).then(({ told }) => history.answered(wish, told));
      next();
    });
  };
  next();
}

/** Asks for as much. */
export function put(cluster: SimCluster, { op, kind, tenant, name, spec }: UserIntent): Promise<Answer> {
  const about = { tenant, op, params: { name } };
  const document = { kind: 'Deployment', name, ...spec };
  const requests: Readonly<Record<UserIntent['kind'], Request>> = {
    create: { ...about, method: 'POST', path: DEPLOYMENTS, document },
    change: { ...about, method: 'PUT', path: DEPLOYMENT, document },
    delete: { ...about, method: 'DELETE', path: DEPLOYMENT },
  };
  return cluster.ask(requests[kind]);
}

function draw({ world }: SimCluster, op: string): UserIntent {
  const name = world.pick(NAMES);
  const hasSecret = name === 'safe' || (name === 'web' && world.chance(0.3));
  const spec = {
    image: `registry.test/${name}:${world.pick(['1', '2', '3'])}`,
    replicas: world.pick([0, 1, 1, 2, 3]),
    labels: { op },
    secrets: hasSecret ? [CREDENTIAL] : [],
    ...(name === 'db' && { ports: [{ containerPort: 80, hostPort: 5432 }], resources: { cpu: '1' } }),
    ...(name === 'mesh' && { networks: world.pick([[LAN], [LAN], []]) }),
    ...(name === 'ledger' && { placement: { residency: { country: world.pick(['DE', 'DE', 'FR']) } } }),
  };
  return { op, kind: world.pick(KINDS), tenant: world.pick(TENANTS), name, spec };
}
