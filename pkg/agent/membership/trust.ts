import { backoffMs, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import { fetchPinnedAuthority, hasPinnedKey } from '../../link/index.js';
import type { AgentEnv } from '../agent-env.js';

const FILE = 'server-ca.pem';
const RETRY = { firstMs: 500, capMs: 30_000 };

/**
 * The certificate authority that the server must be vouched for by, as PEM: the one that was pinned at enrolment and is kept
 * on disk. Undefined when none was ever pinned: then the public authorities count.
 *
 * A new join token may name another one. Retries until the server shows it; undefined too when aborted.
 */
export async function loadServerAuthority(
  { clock, random, log, disk }: Pick<AgentEnv, 'clock' | 'random' | 'log' | 'disk'>,
  server: string,
  pin: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const stored = await disk.read(FILE);
  if (pin === undefined || (stored !== undefined && hasPinnedKey(stored, pin))) return stored;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      const authority = await fetchPinnedAuthority(server, pin);
      await disk.write(FILE, authority);
      log.info('the certificate authority of the server was pinned', { address: server });
      return authority;
    } catch (thrown) {
      const error = asError(thrown);
      log.warn('the server could not be authenticated, retrying', { address: server, attempt, error });
      await sleep(clock, backoffMs(attempt, RETRY, random), signal);
    }
  }
  return undefined;
}
