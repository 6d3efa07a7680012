import { linkSync, renameSync, rmSync } from 'node:fs';

import type { Home } from './home.js';
import { identify, isAlive, type ProcessIdentity } from './identity.js';
import { writeJson } from './json-file.js';

/**
 * Makes this process the one supervisor of a home. False when another one is, and lives.
 *
 * Creating a hard link fails where the name exists, so two supervisors that start at once cannot both succeed; a claim of
 * a dead one is replaced, and whoever replaced it last has it. The other may have believed so for a moment: whoever
 * supervises looks again before each pass.
 */
export function claim(home: Home): boolean {
  const own = identify(process.pid);
  if (!own) return false;
  const path = home.path('run', 'supervisor.json');
  const draft = `${path}.${process.pid}.claim`;
  writeJson(draft, own);
  try {
    linkSync(draft, path);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    const holder = home.supervisor.read();
    if (holder && isAlive(holder)) return holder.pid === own.pid;
    renameSync(draft, path);
    return holdsClaim(home);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Whether this process is the one that has the claim. */
export function holdsClaim(home: Home): boolean {
  return home.supervisor.read()?.pid === process.pid;
}

/** The supervisor that lives, if one does. */
export function livingSupervisor(home: Home): ProcessIdentity | undefined {
  const holder = home.supervisor.read();
  return holder && isAlive(holder) ? holder : undefined;
}
