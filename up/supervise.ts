import { systemClock } from '../pkg/clock/index.js';
import type { Logger } from '../pkg/log/index.js';
import { claim, holdsClaim } from './claim.js';
import { Home } from './home.js';
import { end } from './identity.js';
import { stagesOf } from './stages.js';
import { MARK, strays } from './strays.js';
import { Supervisor } from './supervisor.js';

/**
 * Supervises one home until aborted. Does nothing when another supervisor already does.
 *
 * The parts stay when it ends: `moor down` ends them, and the next supervisor takes them over.
 */
export async function supervise(folder: string, log: Logger, signal: AbortSignal): Promise<void> {
  const home = new Home(folder);
  if (!claim(home)) return log.info('another supervisor is at work');

  process.env[MARK] = folder;
  const known = home.records.names().flatMap(name => home.records.read(name)?.process ?? []);
  for (const stray of strays(folder, known)) {
    log.warn('a process that nobody recorded is ended', { count: stray.pid });
    await end(stray, { clock: systemClock, graceMs: 5_000 });
  }
  const supervisor = new Supervisor({
    home,
    clock: systemClock,
    log,
    environment: process.env,
    isInCharge: () => holdsClaim(home),
    stagesOf: stagesOf(home, process.env),
  });
  await supervisor.run(signal);
}
