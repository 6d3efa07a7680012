import { type SimCluster, TENANTS } from './cluster.js';

const QUOTAS = '/api/v1/tenants/{tenant}/quotas';

/** The platform raises and lowers quotas, every few seconds until `until`. */
export function setQuotas(cluster: SimCluster, until: number): void {
  const { world } = cluster;
  if (world.time >= until) return;
  world.after(world.between(3_000, 12_000), 'the platform sets quotas', () => {
    const some = {
      containers: world.pick([0, 1, 2, 3, 5]),
      cpu: world.pick([0, 1_000, 2_000]),
      deployments: world.pick([1, 2, 3]),
      nodes: world.pick([1, 2, 3]),
    };
    const document = Object.fromEntries(Object.entries(some).filter(() => world.chance(0.4)));
    void setQuota(cluster, world.pick(TENANTS), document);
    setQuotas(cluster, until);
  });
}

/** Sets what a tenant may have. */
export async function setQuota(cluster: SimCluster, tenant: string, document: object): Promise<boolean> {
  const params = { tenant };
  return (await cluster.ask({ method: 'PUT', path: QUOTAS, tenant, params, document })).told === 'stored';
}

/** How much of each kind the platform says a tenant has. */
export async function countUsed(cluster: SimCluster, tenant: string): Promise<Readonly<Record<string, number>>> {
  const answer = await cluster.ask({ method: 'GET', path: QUOTAS, tenant, params: { tenant } });
  if (answer.told !== 'stored') throw new Error('quotas cannot be read');
  const quotas = answer.body['quotas'] as Readonly<Record<string, { readonly used: number }>>;
  return Object.fromEntries(Object.entries(quotas).map(([kind, { used }]) => [kind, used]));
}
