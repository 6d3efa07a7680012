import { lookup, Resolver } from 'node:dns/promises';

/**
 * Finds the addresses of a name; an empty list when it has none.
 *
 * `listed` is true for a name that the operator chose.
 */
export type Names = (name: string, listed: boolean, signal: AbortSignal) => Promise<readonly string[]>;

const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Names that the operator chose are looked up as the machine does it, hosts file and search list included.
 *
 * Names that a tenant chose go to the DNS servers alone. The machine's own look-up holds one of a handful of threads until it is
 * answered, so a few names on a slow server would stop everything else that needs a thread.
 */
export const machineNames: Names = (name, listed, signal) => (listed ? lookUp(name) : askServers(name, signal));

async function lookUp(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}

async function askServers(name: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []));
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
