import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

import { ProcessStartFault } from './faults.js';

/**
 * Below the ports that the kernel itself gives to connections and to listeners that name none: it would give away a port
 * before whom it was chosen for has started, or while he restarts.
 */
const [LOWEST, HIGHEST] = [20_000, 29_999];

let last = randomInt(LOWEST, HIGHEST);

/** A loopback port that was free a moment ago. It may be taken by the time it is used: then choose again. */
export async function findFreePort(): Promise<number> {
  for (let tried = LOWEST; tried <= HIGHEST; tried++) {
    last = last === HIGHEST ? LOWEST : last + 1;
    if (await isFreePort(last)) return last;
  }
  throw new ProcessStartFault(`no loopback port from ${LOWEST} to ${HIGHEST} is free`);
}

/** Whether a loopback port could be listened on a moment ago. */
export function isFreePort(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
