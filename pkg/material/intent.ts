import { failpoint } from '../failpoint/index.js';
import { type CredentialPath, type SecretState, type SecretStore, toCredentialPath } from '../secrets/index.js';
import { type Change, encode, type Entry, type Revision, type Store, value } from '../store/index.js';

/** One new version of one credential. */
export interface IntentWrite {
  /** `<namespace>/<label>`. */
  readonly path: string;
  /** The number that the new version has, or is to have. */
  readonly version: number;
}

/**
 * `intents/<tenant>/<id>`: secret material that is being written beside a record. It holds no values.
 *
 * - `writing`: versions may have been written, the record has not.
 * - `stored`: the record was stored, in the transaction that wrote this; the versions are to become current.
 * - `undoing`: the record can no longer be stored; the versions are to be destroyed.
 */
export interface SecretIntent {
  readonly state: 'writing' | 'stored' | 'undoing';
  readonly tenant: string;
  /** The workload that the material came with. */
  readonly subject: string;
  /** The request that brought it. */
  readonly operation: string;
  readonly at: string;
  readonly writes: readonly IntentWrite[];
}

/** Versions that are written and that nobody sees yet. */
export interface StagedMaterial {
  readonly key: string;
  /** The revision of the intent, which moves with the record or not at all. */
  readonly revision: Revision;
  readonly intent: SecretIntent;
}

/** The two stores that are kept in step. */
export interface MaterialEnv {
  readonly store: Store;
  readonly secrets: SecretStore;
}

/** Makes staged versions current, after their record was stored at `revision`, and forgets the intent. */
export async function settleIntent(env: MaterialEnv, staged: StagedMaterial, revision: number): Promise<void> {
  const { tenant, writes } = staged.intent;
  await promoteAll(env.secrets, tenant, writes);
  failpoint('material.promoted');
  await forget(env.store, staged.key, revision);
  failpoint('material.settled');
}

/** Destroys exactly the versions that were staged and are ours, and forgets the intent. */
export async function undoIntent(
  env: MaterialEnv,
  { key, revision, intent }: StagedMaterial,
  writes: readonly IntentWrite[] = intent.writes,
): Promise<void> {
  failpoint('material.undoing');
  await destroyAll(env.secrets, intent.tenant, writes);
  failpoint('material.undone');
  await forget(env.store, key, revision);
}

/** Makes versions current; never one that is older than the current one, which came later. */
export async function promoteAll(secrets: SecretStore, tenant: string, writes: readonly IntentWrite[]): Promise<void> {
  await Promise.all(
    writes.map(async ({ path: text, version }) => {
      const path = toCredentialPath(tenant, text);
      const { current = 0 } = (await readState(secrets, path)) ?? {};
      if (current < version) await secrets.promote(path, version);
    }),
  );
}

/** Destroys versions. */
export async function destroyAll(secrets: SecretStore, tenant: string, writes: readonly IntentWrite[]): Promise<void> {
  await Promise.all(writes.map(({ path, version }) => secrets.destroy(toCredentialPath(tenant, path), version)));
}

/** Which versions a credential has, if it has any. */
export async function readState(secrets: SecretStore, path: CredentialPath): Promise<SecretState | undefined> {
  const reading = await secrets.state(path);
  return reading.kind === 'found' ? reading.state : undefined;
}

async function forget(store: Store, key: string, revision: number): Promise<void> {
  await store.commit({ guards: [{ key, at: revision }], puts: [], deletes: [key] });
}

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
export async function completeIntent(env: FinishEnv, entry: Entry): Promise<'again' | 'finished'> {
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
  const states = await Promise.all(writes.map(({ path }) => readState(secrets, toCredentialPath(tenant, path))));
  return writes.filter(({ path, version }, position) => {
    const isClaimed = claimed.some(other => other.path === path && other.version === version);
    return !isClaimed && version > (states[position]?.current ?? 0);
  });
}
