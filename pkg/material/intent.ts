import { failpoint } from '../failpoint/index.js';
import { type CredentialPath, type SecretState, type SecretStore, toCredentialPath } from '../secrets/index.js';
import { type Change, encode, type Entry, type Revision, type Store, value } from '../store/index.js';

/** One new version of one credential. */
export interface IntentWrite {
  /** `<namespace>/<label>`. */
  readonly path: string;
  /** The number of the new version. */
  readonly version: number;
}

/**
 * `intents/<tenant>/<id>`: secret material that is being written together with a record. It holds no values.
 *
 * - `writing`: versions may have been written, the record has not.
 * - `stored`: the record was stored, in the transaction that wrote this; the versions are to become current.
 * - `undoing`: the record can no longer be stored; the versions are to be destroyed.
 */
export interface SecretIntent {
  readonly state: 'writing' | 'stored' | 'undoing';
  readonly tenant: string;
  /** The workload that the material belongs to. */
  readonly subject: string;
  /** The API operation that wrote it. */
  readonly operation: string;
  readonly at: string;
  readonly writes: readonly IntentWrite[];
}

/** Versions that are written but not current yet. */
export interface StagedMaterial {
  readonly key: string;
  /** The revision of the intent. Its next change is committed together with the record. */
  readonly revision: Revision;
  readonly intent: SecretIntent;
}

export interface MaterialEnv {
  readonly store: Store;
  readonly secrets: SecretStore;
}

/** Makes staged versions current, after their record was stored at `revision`, and deletes the intent. */
export async function settleIntent(env: MaterialEnv, staged: StagedMaterial, revision: number): Promise<void> {
  const { tenant, writes } = staged.intent;
  await promoteAll(env.secrets, tenant, writes);
  failpoint('material.promoted');
  await deleteIntent(env.store, staged.key, revision);
  failpoint('material.settled');
}

/** Destroys exactly the versions that this intent staged, and deletes the intent. */
export async function undoIntent(
  env: MaterialEnv,
  { key, revision, intent }: StagedMaterial,
  writes: readonly IntentWrite[] = intent.writes,
): Promise<void> {
  failpoint('material.undoing');
  await destroyAll(env.secrets, intent.tenant, writes);
  failpoint('material.undone');
  await deleteIntent(env.store, key, revision);
}

/** Makes versions current, unless a newer one already is. */
export async function promoteAll(secrets: SecretStore, tenant: string, writes: readonly IntentWrite[]): Promise<void> {
  await Promise.all(
    writes.map(async ({ path: text, version }) => {
      const path = toCredentialPath(tenant, text);
      const { current = 0 } = (await readState(secrets, path)) ?? {};
      if (current < version) await secrets.promote(path, version);
    }),
  );
}

export async function destroyAll(secrets: SecretStore, tenant: string, writes: readonly IntentWrite[]): Promise<void> {
  await Promise.all(writes.map(({ path, version }) => secrets.destroy(toCredentialPath(tenant, path), version)));
}

/** The versions of a credential; undefined when it has none. */
export async function readState(secrets: SecretStore, path: CredentialPath): Promise<SecretState | undefined> {
  const reading = await secrets.state(path);
  return reading.kind === 'found' ? reading.state : undefined;
}

async function deleteIntent(store: Store, key: string, revision: number): Promise<void> {
  await store.commit({ guards: [{ key, at: revision }], puts: [], deletes: [key] });
}

export interface CompleteEnv {
  readonly secrets: SecretStore;
  /** Commits a change or throws. */
  readonly commit: (change: Change) => Promise<void>;
  /** Versions that other intents and rotations of the tenant have claimed. */
  readonly claimed: readonly IntentWrite[];
}

/**
 * Completes an abandoned intent, one step per call: `again` when another step follows.
 *
 * An intent whose record was not stored is first marked `undoing`. The transaction of the record is guarded by the intent,
 * so from then on it fails, however late it arrives.
 */
export async function completeIntent(env: CompleteEnv, entry: Entry): Promise<'again' | 'finished'> {
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
    await destroyAll(env.secrets, tenant, await findOwnVersions(env, tenant, writes));
    failpoint('janitor.destroyed');
  }
  await env.commit({ guards: [seen], puts: [], deletes: [entry.key] });
  failpoint('janitor.finished');
  return 'finished';
}

/**
 * The versions that this intent wrote. A version of that number may belong to another writer that was first: then it is
 * current, or another intent claims it.
 */
async function findOwnVersions(
  { secrets, claimed }: CompleteEnv,
  tenant: string,
  writes: readonly IntentWrite[],
): Promise<readonly IntentWrite[]> {
  const states = await Promise.all(writes.map(({ path }) => readState(secrets, toCredentialPath(tenant, path))));
  return writes.filter(({ path, version }, position) => {
    const isClaimed = claimed.some(other => other.path === path && other.version === version);
    return !isClaimed && version > (states[position]?.current ?? 0);
  });
}
