import { failpoint } from '../failpoint/index.js';
import { credentialPath, type SecretStore } from '../secrets/index.js';
import { type Change, encode, type Entry, value } from '../store/index.js';
import type { IntentWrite, SecretIntent } from './intent.js';
import { destroyAll, promoteAll, stateOf } from './settle.js';

/** What finishing works with. */
export interface FinishEnv {
  readonly secrets: SecretStore;
  /** Makes a change or throws. */
  readonly commit: (change: Change) => Promise<void>;
  /** What other intents of the tenant have stored, as far as is known. */
  readonly claimed: readonly IntentWrite[];
}

/**
 * Does what is left of an intent that nobody works on any more, one step a call: `again` when there is another.
 *
 * An intent whose record was not stored is first marked: from then on the record cannot be stored, however late its
 * transaction arrives, since that is guarded by the intent.
 */
export async function finish(env: FinishEnv, entry: Entry): Promise<'again' | 'finished'> {
  const intent = value<SecretIntent>(entry);
  const { tenant, writes, state } = intent;
  const seen = { key: entry.key, at: entry.revision };
  if (state === 'writing') {
    const undoing: SecretIntent = { ...intent, state: 'undoing' };
    await env.commit({ guards: [seen], puts: [{ key: entry.key, bytes: encode(undoing) }], deletes: [] });
    failpoint('janitor.marked');
    return 'again';
  }
  if (state === 'stored') {
    await promoteAll(env.secrets, tenant, writes);
    failpoint('janitor.promoted');
  } else {
    await destroyAll(env.secrets, tenant, await unseen(env, tenant, writes));
    failpoint('janitor.destroyed');
  }
  await env.commit({ guards: [seen], puts: [], deletes: [entry.key] });
  failpoint('janitor.finished');
  return 'finished';
}

/**
 * The versions that this intent wrote. A version of that number may also be somebody else's, who was first: then it has
 * become current, or another intent says that it is to.
 */
async function unseen(
  { secrets, claimed }: FinishEnv,
  tenant: string,
  writes: readonly IntentWrite[],
): Promise<readonly IntentWrite[]> {
  const states = await Promise.all(writes.map(({ path }) => stateOf(secrets, credentialPath(tenant, path))));
  return writes.filter(({ path, version }, position) => {
    const isClaimed = claimed.some(other => other.path === path && other.version === version);
    return !isClaimed && version > (states[position]?.current ?? 0);
  });
}
