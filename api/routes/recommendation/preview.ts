import { formatBytes, formatCount } from '../../../crds/grammar/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { VolumeChange } from '../../../crds/recommendation/index.js';
import { checkResidency } from '../../../crds/residency/index.js';
import type { StoredVolume, VolumeStatus } from '../../../crds/volume/index.js';
import {
  explainNoCopies,
  findNode,
  findVolumeDriver,
  sumVolumesByNode,
  toCandidate,
  usesDisk,
} from '../../../pkg/fleet/index.js';
import { type Cache, listValues, readValue } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';

/** What a change would do where, and how long it may take. */
interface ChangePreview {
  readonly nodes: readonly { readonly nodeId: string; readonly name: string | null; readonly change: string }[];
  /** Null where nothing like it was measured. */
  readonly seconds: number | null;
  /** What the time is taken from, in words. */
  readonly because: string;
}

export function previewChange(
  { cache, staticFacts }: Pick<AdmissionEnv, 'cache' | 'staticFacts'>,
  volume: StoredVolume,
  change: VolumeChange,
): ChangePreview {
  const { tenant } = volume.metadata;
  const status = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, volume.id));
  const holders = [status?.primaryNode, ...(status?.copies ?? []).map(({ nodeId }) => nodeId)].filter(
    id => id !== undefined,
  );
  if (change.action === 'set_replicas') {
    const taken = [...holders, ...(volume.excludedNodes ?? [])];
    const free = listTakers(cache, volume, staticFacts.regions).filter(({ id }) => !taken.includes(id));
    const bytes = formatBytes(status?.usedBytes ?? volume.sizeBytes);
    const nodes = free.map(({ id, name }) => ({ nodeId: id, name, change: `may get a copy of ${bytes}` }));
    const more = change.replicas - (volume.replicas ?? 0);
    const none = free.length === 0 ? ', and no node can take one now' : '';
    const chosen = `the nodes of ${formatCount(more, 'more replica')} are chosen then${none}`;
    const whole = findWholeCopy(cache, volume, status);
    if (!whole) return { nodes, seconds: null, because: `${chosen}; how fast copies are made was not measured yet` };
    const toSend = Math.max(0, more) * (status?.usedBytes ?? volume.sizeBytes);
    const perSecond = whole.bytes / Math.max(1, whole.seconds);
    const last = `the last whole copy from its node was ${formatBytes(whole.bytes)} in ${formatCount(whole.seconds, 'second')}`;
    return { nodes, seconds: Math.max(1, Math.ceil(toSend / perSecond)), because: `${chosen}; ${last}` };
  }
  const from = status?.capacityBytes ?? volume.sizeBytes;
  const words = `its size changes from ${formatBytes(from)} to ${formatBytes(change.sizeBytes)} while it is in use`;
  const nodes = holders.map(nodeId => ({ nodeId, name: findNode(nodeId, tenant, cache)?.name ?? null, change: words }));
  const isShrink = change.sizeBytes < from;
  const word = isShrink ? 'shrink' : 'growth';
  const measured = findResize(cache, volume, status, isShrink);
  if (!measured) return { nodes, seconds: null, because: `no ${word} was measured on its node yet` };
  const took = measured.seconds ?? 0;
  const rate = measured.bytes / Math.max(1, took);
  const seconds = Math.max(1, Math.ceil(Math.abs(change.sizeBytes - from) / rate));
  const because = `the last ${word} there was ${formatBytes(measured.bytes)} in ${formatCount(took, 'second')}`;
  return { nodes, seconds, because };
}

/** The nodes that could take a copy as they are: sending heartbeats, taking work, inside the residency, with an address for copies and with room. */
function listTakers(cache: Cache, volume: StoredVolume, regions: AdmissionEnv['staticFacts']['regions']) {
  const { metadata, residency = {}, sizeBytes } = volume;
  const { tenant } = metadata;
  const promised = sumVolumesByNode(cache, tenant);
  const driver = findVolumeDriver(cache, volume);
  return listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).filter(node => {
    const { id, labels, capacity, orders } = node;
    const isReady = orders?.drain === undefined && toCandidate(node, cache).status === 'ready';
    const isFull = usesDisk(volume) && capacity.disk > 0 && capacity.disk - (promised.get(id) ?? 0) < sizeBytes;
    return (
      isReady &&
      !isFull &&
      explainNoCopies(node, driver) === undefined &&
      checkResidency(residency, labels, regions).length === 0
    );
  });
}

/** The last time that everything of this volume, or of another one of the same node, was sent to a copy. */
function findWholeCopy(cache: Cache, volume: StoredVolume, status: VolumeStatus | undefined) {
  const others = listValues<VolumeStatus>(cache, ranges.of(ranges.volumeStatuses, volume.metadata.tenant));
  const here = others.filter(({ primaryNode }) => primaryNode === status?.primaryNode);
  const copies = [...(status ? [status] : []), ...here].flatMap(each => each.copies);
  return copies.find(({ lastWhole }) => lastWhole !== undefined && lastWhole.bytes > 0)?.lastWhole;
}

/** The last resize of this kind of this volume, or of another on the same node: one that moves bytes predicts none that does not. */
function findResize(cache: Cache, volume: StoredVolume, status: VolumeStatus | undefined, isShrink: boolean) {
  const others = listValues<VolumeStatus>(cache, ranges.of(ranges.volumeStatuses, volume.metadata.tenant));
  const here = others.filter(({ primaryNode }) => primaryNode === status?.primaryNode);
  const known = [...(status ? [status] : []), ...here].flatMap(({ lastResize }) => lastResize ?? []);
  return known.find(each => each.seconds !== undefined && (each.isShrink ?? false) === isShrink);
}
