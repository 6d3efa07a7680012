import type { History, UserIntent } from './history.js';
import { type SimCluster, TENANTS } from './cluster.js';
import type { Answer, Request } from './front.js';
import { LAN } from './networks.js';
import { bringCredential, CREDENTIAL } from './secrets.js';

const NAMES = ['web', 'db', 'ledger', 'safe', 'safe', 'mesh'] as const;
const KINDS = ['create', 'create', 'change', 'change', 'change', 'delete'] as const;
/** So many of their requests are for a backup. */
const BACKED_UP = 0.08;
/** At so many of them another user asks for the same thing otherwise, at the same moment. */
const RIVALLED = 0.15;
const DEPLOYMENTS = '/api/v1/deployments';
const DEPLOYMENT = '/api/v1/deployments/{name}';

/** Users send a request every second or so, until `until`, and record the answers. `prefix` names their operations. */
export function useCluster(cluster: SimCluster, history: History, until: number, prefix = 'op'): void {
  let asked = 0;
  const next = () => {
    const { world } = cluster;
    if (world.time >= until) return;
    world.after(world.between(100, 3_000), 'a user asks', () => {
      if (world.chance(BACKED_UP)) void backUp(cluster);
      const intent = draw(cluster, `${prefix}-${++asked}`);
      const rival = world.chance(RIVALLED)
        ? [{ ...draw(cluster, `${prefix}-${++asked}`, intent), kind: 'change' as const }]
        : [];
      for (const each of [intent, ...rival]) void put(cluster, each).then(({ told }) => history.answered(each, told));
      next();
    });
  };
  next();
}

async function backUp(cluster: SimCluster): Promise<void> {
  const { world } = cluster;
  const document = { deploymentName: world.pick(NAMES) };
  await cluster.ask({ method: 'POST', path: '/api/v1/backups', tenant: world.pick(TENANTS), document });
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

function draw(
  { world }: SimCluster,
  op: string,
  { name, tenant } = { name: world.pick(NAMES) as string, tenant: world.pick(TENANTS) as string },
): UserIntent {
  const hasSecret = name === 'safe' || (name === 'web' && world.chance(0.3));
  const spec = {
    image: `registry.test/${name}:${world.pick(['1', '2', '3'])}`,
    replicas: world.pick([0, 1, 1, 2, 3]),
    labels: { op },
    secrets: hasSecret ? [CREDENTIAL] : name === 'mesh' && world.chance(0.8) ? [bringCredential(world)] : [],
    ...(name === 'db' && { ports: [{ containerPort: 80, hostPort: 5432 }], resources: { cpu: '1' } }),
    ...(name === 'mesh' && { networks: world.pick([[LAN], [LAN], []]) }),
    ...(name === 'ledger' && { placement: { residency: { country: world.pick(['DE', 'DE', 'FR']) } } }),
  };
  return { op, kind: world.pick(KINDS), tenant, name, spec };
}
