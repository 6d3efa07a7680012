import { createServer } from 'node:net';

import { freePort } from '../pkg/processes/index.js';

/** Whether a loopback port could be listened on a moment ago. */
export function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** The first of the wanted ports that is free, or any free one. */
export async function choosePort(wanted: readonly number[]): Promise<number> {
  for (const port of wanted) if (port > 0 && (await isFree(port))) return port;
  return freePort();
}
