import { failpoint } from '../failpoint/index.js';
import { type CredentialPath, type SecretState, type SecretStore, toCredentialPath } from '../secrets/index.js';
import { ranges } from '../../crds/keys/index.js';
import { type Change, encode, type Entry, type Guard, type Revision, type Store, value } from '../store/index.js';

/** One new version of one credential. */
export interface IntentWrite {
  /** `<namespace>/<label>`. */
  readonly path: string;
  /** The number of the new version. */
  readonly version: number;
  /** The credential that it is a version of; absent when there was none yet. */
  readonly uid?: string;
}

/** A version that is to be destroyed, of exactly one credential. */
export type VersionToDestroy = Required<IntentWrite>;

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
  /** Of an intent that is undone: what is destroyed, and nothing else. Absent until that is decided. */
  readonly doomed?: readonly VersionToDestroy[];
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

/**
 * Destroys exactly the versions that this intent staged, and deletes the intent. What is destroyed is recorded in the intent
 * first. When the janitor has taken the intent over, or it is in doubt whose a version is, all is left to the janitor.
 */
export async function undoIntent(
  env: MaterialEnv,
  { key, revision, intent }: StagedMaterial,
  writes: readonly IntentWrite[] = intent.writes,
): Promise<void> {
  failpoint('material.undoing');
  const { tenant } = intent;
  // A first version looks like another writer's, should the credential have been deleted and recreated.
  const first = writes.filter(({ uid }) => uid === undefined);
  if (first.length > 0 && (await readOtherWrites(env.store, tenant, key)).some(other => isAmong(other, first))) return;
  const doomed = await findDoomed({ secrets: env.secrets, claimed: [] }, tenant, writes);
  const undoing: SecretIntent = { ...intent, state: 'undoing', doomed };
  const change = { guards: [{ key, at: revision }], puts: [{ key, bytes: encode(undoing) }], deletes: [] };
  const verdict = await env.store.commit(change);
  if (!verdict.stored) return;
  await destroyAll(env.secrets, tenant, doomed);
  failpoint('material.undone');
  await deleteIntent(env.store, key, verdict.revision);
}

/** Makes versions current, unless a newer one already is. */
export async function promoteAll(
  secrets: SecretStore,
  tenant: string,
  writes: readonly IntentWrite[],
  guards: readonly Guard[] = [],
): Promise<void> {
  await Promise.all(
    writes.map(async ({ path: text, version, uid }) => {
      const path = toCredentialPath(tenant, text);
      const { current = 0 } = (await readState(secrets, path))?.state ?? {};
      if (current < version) await secrets.promote(path, version, { guards, ...(uid !== undefined && { uid }) });
    }),
  );
}

async function destroyAll(
  secrets: SecretStore,
  tenant: string,
  doomed: readonly VersionToDestroy[],
  guards: readonly Guard[] = [],
): Promise<void> {
  await Promise.all(
    doomed.map(({ path, version, uid }) => secrets.destroy(toCredentialPath(tenant, path), version, { uid, guards })),
  );
}

/** The versions of a credential; undefined when it has none. */
async function readState(
  secrets: SecretStore,
  path: CredentialPath,
): Promise<{ readonly uid: string; readonly state: SecretState } | undefined> {
  const reading = await secrets.state(path);
  return reading.kind === 'found' ? reading : undefined;
}

/** Whether one write is of the same number of the same path as one of the others. */
export function isAmong({ path, version }: IntentWrite, others: readonly IntentWrite[]): boolean {
  return others.some(other => other.path === path && other.version === version);
}

async function readOtherWrites(store: Store, tenant: string, own: string): Promise<readonly IntentWrite[]> {
  const { entries } = await store.list(ranges.of(ranges.intents, tenant));
  return entries.filter(({ key }) => key !== own).flatMap(entry => value<SecretIntent>(entry).writes);
}

async function deleteIntent(store: Store, key: string, revision: number): Promise<void> {
  await store.commit({ guards: [{ key, at: revision }], puts: [], deletes: [key] });
}

export interface CompleteEnv {
  readonly secrets: SecretStore;
  /** Commits a change or throws. Only the leader can. */
  readonly commit: (change: Change) => Promise<void>;
  /** Hold while this process leads. */
  readonly guards: readonly Guard[];
  /** Versions that other intents and rotations of the tenant have claimed. */
  readonly claimed: readonly IntentWrite[];
}

/**
 * Completes an abandoned intent, one step per call: `again` when another step follows.
 *
 * An intent whose record was not stored is first marked `undoing`. The transaction of the record is guarded by the intent,
 * so from then on it fails, however late it arrives. What is to be destroyed is recorded next, and only then destroyed: a
 * leader that was paused can record nothing any more, and can destroy nothing but what was recorded.
 */
export async function completeIntent(env: CompleteEnv, entry: Entry): Promise<'again' | 'finished'> {
  const intent = value<SecretIntent>(entry);
  const { tenant, writes, state, doomed } = intent;
  const seen = { key: entry.key, at: entry.revision };
  const advance = async (next: SecretIntent) => {
    await env.commit({ guards: [seen], puts: [{ key: entry.key, bytes: encode(next) }], deletes: [] });
    return 'again' as const;
  };
  if (state === 'writing') {
    await advance({ ...intent, state: 'undoing' });
    failpoint('janitor.marked');
    return 'again';
  }
  if (state === 'stored') {
    await promoteAll(env.secrets, tenant, writes, env.guards);
    failpoint('janitor.promoted');
  } else {
    if (!doomed) return advance({ ...intent, doomed: await findDoomed(env, tenant, writes) });
    await destroyAll(env.secrets, tenant, doomed, env.guards);
    failpoint('janitor.destroyed');
  }
  await env.commit({ guards: [seen], puts: [], deletes: [entry.key] });
  failpoint('janitor.finished');
  return 'finished';
}

/**
 * The versions that this intent wrote, as they stand in the secrets store now. A version of that number may belong to another
 * writer that was first: then it is current, or claimed. It cannot be claimed later: its number is taken.
 */
async function findDoomed(
  { secrets, claimed }: Pick<CompleteEnv, 'secrets' | 'claimed'>,
  tenant: string,
  writes: readonly IntentWrite[],
): Promise<readonly VersionToDestroy[]> {
  const found = await Promise.all(
    writes.map(async (write): Promise<readonly VersionToDestroy[]> => {
      const { path, version, uid } = write;
      const held = await readState(secrets, toCredentialPath(tenant, path));
      if (!held || isAmong(write, claimed) || (uid !== undefined && uid !== held.uid)) return [];
      const { current = 0, last } = held.state;
      return version > current && version <= last ? [{ path, version, uid: held.uid }] : [];
    }),
  );
  return found.flat();
}
