import { freePort, isFreePort } from '../dev/processes/index.js';

/** The first of the wanted ports that is free, or any free one. */
export async function choosePort(wanted: readonly number[]): Promise<number> {
  for (const port of wanted) if (port > 0 && (await isFreePort(port))) return port;
  return freePort();
}
