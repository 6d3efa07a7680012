import type { Clock } from '../../pkg/clock/index.js';
import { DockerdProcess } from '../../dev/processes/index.js';
import { PartFault } from '../faults.js';
import type { Home } from '../home.js';
import type { ProcessPart } from '../part.js';

const TOGETHER =
  'WARNING: iptables cannot be used here, so containers of all tenants reach each other, and none reaches the outside';

/** A container engine of our own, for machines without one. Containers go on when it is restarted. */
export const dockerdPart: ProcessPart = {
  kind: 'process',
  name: 'dockerd',
  title: 'container engine (our own dockerd)',
  remedy: 'Run "sh hack/setup.sh up" to install Docker, start it yourself, or use "moor up --engine simulated".',
  graceMs: 30_000,
  recipe: () => '',
  async start({ home, clock }) {
    if (process.getuid?.() !== 0) throw new PartFault('no engine was found, and only root can start one');
    const dockerd = await DockerdProcess.start(options(home, clock));
    const detail = dockerd.separates ? dockerd.host : `${dockerd.host}. ${TOGETHER}`;
    return { pid: dockerd.pid!, facts: { docker: dockerd.host }, detail };
  },
};

/** Ends the engine with all its containers, also what it left behind when it was killed. */
export async function stopDockerd(home: Home, clock: Clock): Promise<void> {
  await (await DockerdProcess.start(options(home, clock))).stop();
}

/** Removes the engine with everything it holds: mounts and networks included, which removing the folder would leave. */
export async function destroyDockerd(home: Home, clock: Clock): Promise<void> {
  await (await DockerdProcess.start(options(home, clock))).destroy();
}

/** Where the engine of this home keeps everything, whether it runs or not. */
export function dockerdFolder(home: Home): string {
  return home.path('docker');
}

function options(home: Home, clock: Clock) {
  return { folder: dockerdFolder(home), liveRestore: true, detached: true, clock };
}
