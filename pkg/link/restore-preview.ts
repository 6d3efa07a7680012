import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import { type AdvertisedRemovals, type AdvertisedSetBack, lossKinds, type StoredNode } from '../../crds/node/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import type { StoredVolume } from '../../crds/volume/index.js';
import { toSecretState, type Versions } from '../secrets/index.js';
import { findRecordFault, type Store, value } from '../store/index.js';
import type { RestoreRecord } from './restore-epoch.js';
import type { SetBackRecord } from './store-history.js';

/** What a declaration of the restore would do, as far as agents have said. */
export interface RestorePreview {
  /** That the store is older than it was; left out where nothing has proven that, or it was declared. */
  readonly setBack?: SetBackRecord;
  readonly nodes: readonly NodePreview[];
  /** The secrets are in a store of their own, which was not set back with etcd. */
  readonly hasOwnSecrets?: true;
  /** Of all of it but what was removed before: who declares the restore names what was shown. */
  readonly digest: string;
}

export interface NodePreview {
  /** The name of its tenant; the id where the store does not know it. */
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
  /** What it says is so now. Otherwise its agent sends no heartbeats, or does not know yet that the store was set back. */
  readonly hasAnswered: boolean;
  /** Left out where its agent does not hold: it has not seen that the store was set back, or that is not so. */
  readonly setBack?: Omit<AdvertisedSetBack, 'secrets'>;
  /** Credentials of which containers there have a later version than the store. */
  readonly secrets: readonly NewerSecret[];
  /** Volumes that were removed there and can be brought back. */
  readonly removedVolumes?: AdvertisedRemovals;
}

/** A credential of which a container has a version that the store does not have, or not as the current one. */
interface NewerSecret {
  /** `<namespace>/<label>` */
  readonly path: string;
  readonly given: number;
  /** The current version; 0 where the store has none. */
  readonly stored: number;
}

/** Reads what agents that hold have said. Changes nothing. */
export async function previewRestore(
  store: Store,
  { secretsDriver = 'embedded' }: { readonly secretsDriver?: string } = {},
): Promise<RestorePreview> {
  const [record, restore] = await Promise.all([store.get(keys.setBack()), store.get(keys.restoreEpoch())]);
  const known = record && value<SetBackRecord>(record);
  const epoch = restore ? value<RestoreRecord>(restore).epoch : 0;
  const setBack = known && known.restoreEpoch >= epoch ? known : undefined;
  const hasOwnSecrets = secretsDriver !== 'embedded';
  const [nodes, ...lists] = await Promise.all(
    [ranges.nodes, ranges.alive, ranges.volumes, ranges.tenants, ranges.secrets].map(range => store.list(range)),
  );
  const [alive, volumes, tenants, secrets] = lists.map(
    ({ entries }) => new Map(entries.map(entry => [splitKey(entry.key).join('/'), entry])),
  );
  const previews = nodes!.entries.map((entry): NodePreview => {
    const [tenant = '', name = ''] = splitKey(entry.key);
    const isSound = findRecordFault(entry) === undefined;
    const {
      id,
      setBack: advertised,
      removedVolumes,
    }: Pick<StoredNode, 'id' | 'setBack' | 'removedVolumes'> = isSound ? value<StoredNode>(entry) : { id: '' };
    const toVolume = (volume: string) => read<StoredVolume>(volumes, `${tenant}/${volume}`)?.name ?? volume;
    const findCurrent = (path: string) => findVersion(read<Versions>(secrets, `${tenant}/${path}`));
    return {
      tenant: read<StoredTenant>(tenants, tenant)?.name ?? tenant,
      id,
      name,
      hasAnswered: alive!.has(`${tenant}/${name}`) && (advertised !== undefined || setBack === undefined),
      ...(advertised && { setBack: withNames(advertised, toVolume) }),
      secrets: hasOwnSecrets ? [] : (advertised?.secrets ?? []).flatMap(each => compareSecret(each, findCurrent)),
      ...(removedVolumes && { removedVolumes }),
    };
  });
  const preview = {
    ...(setBack && { setBack }),
    nodes: previews,
    ...(hasOwnSecrets && { hasOwnSecrets: true as const }),
  };
  const shown = { ...preview, nodes: previews.map(({ removedVolumes: _kept, ...node }) => node) };
  return { ...preview, digest: hashSpec(shown).slice(0, 16) };
}

/** Whether a declaration would change anything on a node that cannot be undone by another one. */
export function hasLoss({ setBack }: Pick<NodePreview, 'setBack'>): boolean {
  return setBack !== undefined && lossKinds.some(kind => setBack[kind].length > 0);
}

/** What was shown of each node that has answered, and where anything would go: what `declareRestore` takes. */
export function listConfirmed({ nodes }: RestorePreview): Readonly<Record<string, string>> {
  const shown = nodes.filter(node => node.hasAnswered && hasLoss(node));
  return Object.fromEntries(shown.flatMap(({ id, setBack }) => (setBack ? [[id, setBack.digest]] : [])));
}

function read<Value>(entries: ReadonlyMap<string, Parameters<typeof value>[0]> | undefined, key: string) {
  const entry = entries?.get(key);
  return entry && value<Value>(entry);
}

/** The head of a credential says its versions without a key. */
function findVersion(versions: Versions | undefined): number {
  return (Array.isArray(versions?.live) && toSecretState(versions).current) || 0;
}

function compareSecret(text: string, findCurrent: (path: string) => number): readonly NewerSecret[] {
  const [path = '', version] = text.split('@');
  const [given, stored] = [Number(version), findCurrent(path)];
  return given > stored ? [{ path, given, stored }] : [];
}

function withNames(setBack: AdvertisedSetBack, toName: (id: string) => string): Omit<AdvertisedSetBack, 'secrets'> {
  const { secrets: _, ...changes } = setBack;
  const [removed, demoted, discarded, newer, unknown] = (
    ['removed', 'demoted', 'discarded', 'newer', 'unknown'] as const
  ).map(kind => changes[kind].map(toName));
  return { ...changes, removed: removed!, demoted: demoted!, discarded: discarded!, newer: newer!, unknown: unknown! };
}
