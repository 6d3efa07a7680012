import type { Clock } from '../pkg/clock/index.js';
import { livingSupervisor } from './claim.js';
import type { Home } from './home.js';
import { end, isAlive } from './identity.js';
import type { PartRecord } from './part.js';
import { stopDockerd } from './parts/dockerd.js';
import { strays } from './strays.js';

/** The later a part comes up, the earlier it ends. */
const order = ['agent', 'controllers', 'server', 'registry', 'dockerd', 'etcd'];

/** Told of each process that was ended. */
export type Ended = (name: string, ms: number) => void;

/** Ends the supervisor and every part of a home. Ends nothing that it did not start. */
export async function stopAll(home: Home, clock: Clock, ended: Ended): Promise<void> {
  const supervisor = livingSupervisor(home);
  // In the foreground it is this very process, which has stopped supervising.
  if (supervisor && supervisor.pid !== process.pid)
    await timed(clock, 'supervisor', ended, () => end(supervisor, { clock, graceMs: 5_000 }));
  home.supervisor.remove();

  const records = home.records.names().flatMap(name => home.records.read(name) ?? []);
  for (const record of records.toSorted((a, b) => rank(a) - rank(b))) {
    const { name, process: identity, graceMs } = record;
    // An engine leaves containers behind when it is merely ended, and even when it was killed long ago.
    if (name === 'dockerd') await timed(clock, name, ended, () => stopDockerd(home, clock));
    else if (isAlive(identity)) await timed(clock, name, ended, () => end(identity, { clock, graceMs }));
  }
  for (const stray of strays(home.folder, [])) await end(stray, { clock, graceMs: 5_000 });
  for (const { name } of records) home.records.remove(name);
}

function rank({ name }: PartRecord): number {
  return order.findIndex(kind => name === kind || name.startsWith(`${kind}-`));
}

async function timed(clock: Clock, name: string, ended: Ended, work: () => Promise<void>): Promise<void> {
  const since = clock.monotonic();
  await work();
  ended(name, clock.monotonic() - since);
}
