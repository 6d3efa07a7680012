import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** What is gone after a boot, as what it is about: a clock that counts from the boot. */
const RUN_FOLDER = '/run/mooring';

/** Where the fencer of an agent is found, by the real path of its state folder, which may be too long for a socket. */
export function locateFencer(stateDir: string): {
  readonly folder: string;
  readonly socket: string;
  readonly deadlines: string;
} {
  const name = createHash('sha256').update(stateDir).digest('hex').slice(0, 16);
  const at = join(RUN_FOLDER, `fencer-${name}`);
  return { folder: RUN_FOLDER, socket: `${at}.sock`, deadlines: `${at}.json` };
}
