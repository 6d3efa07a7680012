import { setTimeout as pause } from 'node:timers/promises';

import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../../e2e/lab/control-plane.js';
import { Fleet } from '../../e2e/lab/fleet.js';
import { TenantClient, unwrap } from '../../e2e/lab/tenant-client.js';
import { readStat } from '../../up/machine/process-stat.js';
import type { BenchResult } from './report.js';
import { ratio } from './rounds.js';

const COUNT = 200;
const VOLUMES = '/api/v1/dvm/volumes';
/** What was changed before comes to its end in the first; in the second the disk is looked at ten times, and each copy is asked for once or twice. */
const [SETTLE_MS, WATCH_MS] = [60_000, 600_000];
const PATIENCE_MS = 900_000;
/** Of /proc/<pid>/stat: of a second, whatever the machine. */
const TICKS = 100;

/** The processor time that a process has used, with that of the programs it has started, in milliseconds. */
function readUsedMs(pid: number): number {
  const ticks = readStat(pid).slice(11, 15).map(Number);
  if (ticks.length === 0) throw new Error(`there is no process ${pid}: the agent has ended; see its log`);
  return (ticks.reduce((sum, each) => sum + each, 0) * 1000) / TICKS;
}

interface ShownVolume {
  readonly replicas: readonly { readonly state: string }[];
}

/** W23c: the processor time of the agent of a node that has 200 replicated volumes that no container uses. */
export async function keepIdleVolumes(): Promise<BenchResult[]> {
  const plane = await ControlPlane.start({});
  const fleet = await Fleet.start(plane);
  try {
    const { id, client } = await TenantClient.open(plane, 'bench');
    const admin = plane.client(plane.access.adminToken);
    unwrap(await admin.request('PUT', `/api/v1/tenants/${id}/quotas`, { body: { volumes: COUNT } }));
    const flags = ['--volume-driver=btrfs', '--volume-listen=127.0.0.1:0'];
    const { agent } = await fleet.enrol(client, 'bench-1', {}, { flags });
    await fleet.enrol(client, 'bench-2', {}, { flags });
    for (let made = 0; made < COUNT; made++) {
      const body = { name: `data-${made}`, class: 'replicated', sizeBytes: 128 * 2 ** 20, primaryNode: 'bench-1' };
      unwrap(await client.request('POST', VOLUMES, { body }));
    }
    const isCopied = async () => {
      const { items } = unwrap(await client.request<{ items: readonly ShownVolume[] }>('GET', `${VOLUMES}?limit=500`));
      return items.filter(({ replicas }) => replicas.some(({ state }) => state === 'synced')).length === COUNT;
    };
    await until('every volume to have a copy', isCopied, PATIENCE_MS);
    await pause(SETTLE_MS);
    const [before, begun] = [readUsedMs(agent.pid), performance.now()];
    await pause(WATCH_MS);
    const [usedMs, watchedMs] = [readUsedMs(agent.pid) - before, performance.now() - begun];
    return [
      {
        workload: 'W23c',
        what: `processor time of an agent with ${COUNT} idle replicated volumes, over the time of one core`,
        ratio: ratio([usedMs], [watchedMs]),
        floor: 0.01,
        target: 0.005,
        larger: false,
        figures: `${usedMs.toFixed(0)} ms in ${(watchedMs / 1000).toFixed(0)} s`,
      },
    ];
  } finally {
    await fleet.stop();
    await plane.stop();
  }
}
