import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { AdvertisedRemovals, AdvertisedSetBack, StoredNode } from '../../crds/node/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import type { StoredVolume } from '../../crds/volume/index.js';
import { findRecordFault, type Store, value } from '../store/index.js';
import type { RestoreRecord } from './restore-epoch.js';
import type { SetBackRecord } from './store-history.js';

/** What a declaration of the restore would do, as far as agents have said. */
export interface RestorePreview {
  /** That the store is older than it was; left out where nothing has proven that, or it was declared. */
  readonly setBack?: SetBackRecord;
  readonly nodes: readonly NodePreview[];
}

interface NodePreview {
  /** The name of its tenant; the id where the store does not know it. */
  readonly tenant: string;
  readonly name: string;
  /** It sends heartbeats: what it says is so now. */
  readonly isPresent: boolean;
  /** Left out where its agent does not hold: it has not seen that the store was set back, or that is not so. */
  readonly setBack?: AdvertisedSetBack;
  /** Volumes that were removed there and can be brought back. */
  readonly removedVolumes?: AdvertisedRemovals;
}

/** Reads what agents that hold have said. Changes nothing. */
export async function previewRestore(store: Store): Promise<RestorePreview> {
  const [record, restore] = await Promise.all([store.get(keys.setBack()), store.get(keys.restoreEpoch())]);
  const setBack = record && value<SetBackRecord>(record);
  const epoch = restore ? value<RestoreRecord>(restore).epoch : 0;
  const [nodes, alive, volumes, tenants] = await Promise.all(
    [ranges.nodes, ranges.alive, ranges.volumes, ranges.tenants].map(range => store.list(range)),
  );
  const tenantNames = new Map(tenants!.entries.map(entry => [splitKey(entry.key)[0], value<StoredTenant>(entry).name]));
  const names = new Map(
    volumes!.entries.map(entry => [splitKey(entry.key).join('/'), value<StoredVolume>(entry).name]),
  );
  const present = new Set(alive!.entries.map(({ key }) => splitKey(key).join('/')));
  const previews = nodes!.entries.map((entry): NodePreview => {
    const [id = '', name = ''] = splitKey(entry.key);
    const { setBack: told, removedVolumes } = findRecordFault(entry) === undefined ? value<StoredNode>(entry) : {};
    const isPresent = present.has(`${id}/${name}`);
    const toName = (volume: string) => names.get(`${id}/${volume}`) ?? volume;
    const kept = removedVolumes && { removedVolumes };
    const held = told && { setBack: withNames(told, toName) };
    return { tenant: tenantNames.get(id) ?? id, name, isPresent, ...held, ...kept };
  });
  return { ...(setBack && setBack.restoreEpoch >= epoch && { setBack }), nodes: previews };
}

function withNames(told: AdvertisedSetBack, toName: (id: string) => string): AdvertisedSetBack {
  const [newer, removed, unknown] = [told.newer, told.removed, told.unknown].map(ids => ids.map(toName));
  return { ...told, newer: newer!, removed: removed!, unknown: unknown! };
}
