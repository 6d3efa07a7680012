import { type SimCluster, TENANTS } from './cluster.js';
import { COUNTRY } from './machine.js';
import { put } from './users.js';

const NAME = 'ledger';

/** Every machine is in one country, and data that may be nowhere else is there. Then each machine that has some goes abroad, and the data may not. */
export async function takeAbroad(cluster: SimCluster, converge: () => Promise<unknown>): Promise<void> {
  const { machines } = cluster;
  for (const machine of machines) move(cluster, machine.name, 'DE');
  const spec = { image: `registry.test/${NAME}:1`, replicas: 1, placement: { residency: { country: 'DE' } } };
  for (const tenant of TENANTS) {
    const about = { tenant, name: NAME, spec: { ...spec, labels: { op: 'abroad' } } };
    for (const kind of ['create', 'change'] as const) void put(cluster, { op: `abroad-${kind}`, kind, ...about });
  }
  await converge();
  const holders = machines.filter(({ engine }) => engine.containers.some(({ name }) => name.includes(NAME)));
  for (const { name } of holders) move(cluster, name, 'FR');
  await converge();
}

/** The agent is restarted with the label of the country; its containers go on. */
function move({ world, machines }: SimCluster, name: string, country: string): void {
  const { labels, seat } = machines.find(machine => machine.name === name)!;
  if (labels[COUNTRY] === country) return;
  labels[COUNTRY] = country;
  seat.restart(world.between(100, 3_000));
}
