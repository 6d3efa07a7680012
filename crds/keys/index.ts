/**
 * Where everything is stored. The one place that builds a key; ranges and keys of kinds follow from their descriptors.
 *
 *     keys.deployment('t1', 'web')                // 'deployments/t1/web'
 *     ranges.of(ranges.deployments, 't1')         // 'deployments/t1/'
 *     buildKey(gadgetKind, 't1', 'first')         // 'gadgets/t1/first'
 *
 * Every segment is checked before it becomes part of a key, so that no name can reach into another
 * tenant's range; every range ends in `/`, so that `t1` never matches `t10`.
 *
 * @module
 */
import { deploymentKind } from '../deployment/index.js';
import { jobKind } from '../job/index.js';
import type { Kind } from '../kind/index.js';
import { type KnownKind, kinds } from '../kinds/index.js';
import { networkKind } from '../network/index.js';
import { nodeKind } from '../node/index.js';
import { rotationKind } from '../rotation/index.js';
import { volumeKind } from '../volume/index.js';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** A name reached the key layer unchecked. The rules above it should have refused it. */
export class InvalidSegmentError extends Error {
  constructor() {
    super('a name that cannot be part of a key reached the store');
    this.name = 'InvalidSegmentError';
  }
}

function checkSegment(part: string | number): string {
  // Ten digits, so that keys sort by the number.
  const segment = typeof part === 'number' ? String(part).padStart(10, '0') : part;
  if (!SEGMENT.test(segment)) throw new InvalidSegmentError();
  return segment;
}

function joinKey(range: string, ...[first, ...rest]: readonly (string | number)[]): string {
  let key = first === undefined ? range : range + checkSegment(first);
  for (const part of rest) key += `/${checkSegment(part)}`;
  return key;
}

/** The key of an object of any kind that has records: the range of the kind, then the segments that it names. */
export function buildKey(
  { range, keyParts }: Pick<Kind, 'range' | 'keyParts'>,
  ...segments: readonly string[]
): string {
  if (range === undefined || segments.length !== keyParts?.length) throw new InvalidSegmentError();
  return joinKey(range, ...segments);
}

/** The key of the status of an object, from the key of the object: the same segments in the kind's range of statuses. */
export function toStatusKey({ range, statusRange }: Pick<Kind, 'range' | 'statusRange'>, key: string): string {
  if (range === undefined || statusRange === undefined || !key.startsWith(range)) throw new InvalidSegmentError();
  return statusRange + key.slice(range.length);
}

/** A deployment, named without its kind. Also what the queues of most loops carry, as `<tenant>/<name>`. */
export interface ObjectName {
  readonly tenant: string;
  readonly name: string;
}

type StoredKind = Extract<KnownKind, { readonly range: string }>;
type Segments<Parts extends readonly string[]> = {
  [Part in keyof Parts]: Parts[Part] extends 'revision' ? number : string;
};

/** The ranges of all kinds by their plural, and the keys of their objects by their singular. */
const stored = kinds.filter((kind): kind is StoredKind => 'range' in kind);
const kindRanges = Object.fromEntries(stored.map(({ plural, range }) => [plural, range])) as {
  readonly [Each in StoredKind as Each['plural']]: Each['range'];
};
const kindKeys = Object.fromEntries(
  stored.map(({ singular, range }) => [
    singular,
    (...segments: readonly (string | number)[]) => joinKey(range, ...segments),
  ]),
) as { readonly [Each in StoredKind as Each['singular']]: (...segments: Segments<Each['keyParts']>) => string };

const byTenantAndName = (range: string) => (tenant: string, name: string) => joinKey(range, tenant, name);

export const keys = {
  ...kindKeys,
  status: byTenantAndName(deploymentKind.statusRange),
  jobStatus: byTenantAndName(jobKind.statusRange),
  nodeStatus: byTenantAndName(nodeKind.statusRange),
  networkStatus: byTenantAndName(networkKind.statusRange),
  networkReport: byTenantAndName('network-reports/'),
  volumeStatus: byTenantAndName(volumeKind.statusRange),
  volumeReport: (tenant: string, id: string, nodeId: string) => joinKey('volume-reports/', tenant, id, nodeId),
  /** What was recommended about a volume. */
  advice: byTenantAndName('advice/'),
  rotationProgress: byTenantAndName(rotationKind.statusRange),
  scheduling: byTenantAndName('scheduling/'),
  /** `name` is the id of a node. */
  portConflict: byTenantAndName('port-turns/'),
  replica: (tenant: string, deployment: string, slot: number) => joinKey('replicas/', tenant, deployment, String(slot)),
  report: (tenant: string, nodeId: string, replica: string) => joinKey('reports/', tenant, nodeId, replica),
  nodeGrace: byTenantAndName('node-grace/'),
  /** The record of a tenant that is being deleted, moved aside so that nothing is created for it. */
  tenantRemoval: (id: string) => joinKey('tenant-removals/', id),
  nodeName: (name: string) => joinKey('node-names/', name),
  alive: byTenantAndName('alive/'),
  logRequest: (tenant: string, nodeId: string, id: string) => joinKey('log-requests/', tenant, nodeId, id),
  secretVersion: (tenant: string, namespace: string, label: string, version: number) =>
    joinKey('secret-versions/', tenant, namespace, label, version),
  /** Which keys the secrets of the embedded driver are sealed with, by name. */
  secretKeyring: () => 'keyrings/secrets',
  /** Secret material on its way into the secrets store, in step with a record. */
  intent: byTenantAndName('intents/'),
  /** Written by every write whose validation reads other objects of the same subject, so that they are serialised. */
  conflict: byTenantAndName('turns/'),
  unresolved: byTenantAndName('unresolved/'),
  /** How far the rollout of a deployment is. */
  rollout: byTenantAndName('rollouts/'),
  /** What people order of the canary of a deployment. */
  canaryOrder: byTenantAndName('canary-orders/'),
  /** By what load moves the number of replicas of a deployment, and what it was moved to. */
  scalingPolicy: byTenantAndName('scaling-policies/'),
  scaling: byTenantAndName('scaling/'),
  /** What the containers of a node use. */
  usage: byTenantAndName('usage/'),
  /** Which deleted deployments had a name. */
  formerDeployments: byTenantAndName('former-deployments/'),
  /** What a backup holds beside what lists show of it. */
  backupContent: byTenantAndName('backup-contents/'),
  delivery: (tenant: string, deployment: string, replica: string) =>
    joinKey('deliveries/', tenant, deployment, replica),
  leader: (loop: string) => joinKey('leaders/', loop),
  /** That a process of the control plane runs on the node of this name. */
  platform: (node: string, processId: string) => joinKey('platform/', node, processId),
  /** Written by a read barrier to make the watch deliver something. */
  barrier: () => 'barrier',
  /** That the store was restored from a backup, and when. */
  restoreEpoch: () => 'restore-epoch',
  /** That the store is older than it was, which was not declared yet. */
  setBack: () => 'set-back',
  /** The revision that the store is compacted to next. */
  compaction: () => 'compaction',
  /** Which process makes room in the store, and what it does. */
  recovery: () => 'recovery',
  /** The alarms of the store that were announced as events. */
  alarms: () => 'alarms',
  /** Put to close an epoch of a writer: batches that carry its id are not made any more. */
  epoch: (id: string) => joinKey('epochs/', id),
} as const;

/** How many segments follow the range in each key of that range, by what the functions above build. */
const depths: ReadonlyMap<string, number> = new Map([
  ...Object.values(keys).map(build => {
    const sample = (build as (...segments: string[]) => string)(...Array<string>(build.length).fill('x'));
    const [range = '', ...segments] = sample.split('/');
    return [range, segments.length] as const;
  }),
  ...stored.map(({ range, keyParts }) => [range.slice(0, -1), keyParts.length] as const),
]);

/**
 * Whether a key is one that the functions above can have built. Of a range that this release does not know, its segments only are judged.
 */
export function isWellFormedKey(key: string): boolean {
  const [range = '', ...segments] = key.split('/');
  if (!SEGMENT.test(range) || !segments.every(segment => SEGMENT.test(segment))) return false;
  return segments.length === (depths.get(range) ?? segments.length);
}

/** Ranges that are listed or indexed. */
export const ranges = {
  ...kindRanges,
  statuses: deploymentKind.statusRange,
  jobStatuses: jobKind.statusRange,
  nodeStatuses: nodeKind.statusRange,
  networkStatuses: networkKind.statusRange,
  networkReports: 'network-reports/',
  volumeStatuses: volumeKind.statusRange,
  volumeReports: 'volume-reports/',
  advices: 'advice/',
  rotationProgress: rotationKind.statusRange,
  schedulings: 'scheduling/',
  replicas: 'replicas/',
  reports: 'reports/',
  nodeGraces: 'node-grace/',
  alive: 'alive/',
  nodeNames: 'node-names/',
  logRequests: 'log-requests/',
  secretVersions: 'secret-versions/',
  intents: 'intents/',
  unresolved: 'unresolved/',
  rollouts: 'rollouts/',
  canaryOrders: 'canary-orders/',
  scalingPolicies: 'scaling-policies/',
  scalings: 'scaling/',
  usages: 'usage/',
  deliveries: 'deliveries/',
  formerDeployments: 'former-deployments/',
  backupContents: 'backup-contents/',
  leaders: 'leaders/',
  platform: 'platform/',
  of: (range: string, tenant: string) => `${joinKey(range, tenant)}/`,
  archivesOf: (tenant: string, uid: string) => `${joinKey(kindRanges.archives, tenant, uid)}/`,
  volumeReportsOf: (tenant: string, id: string) => `${joinKey('volume-reports/', tenant, id)}/`,
  replicasOf: (tenant: string, deployment: string) => `${joinKey('replicas/', tenant, deployment)}/`,
  logRequestsOf: (tenant: string, nodeId: string) => `${joinKey('log-requests/', tenant, nodeId)}/`,
  platformOn: (node: string) => `${joinKey('platform/', node)}/`,
  deliveriesOf: (tenant: string, deployment: string) => `${joinKey('deliveries/', tenant, deployment)}/`,
  secretVersionsOf: (tenant: string, namespace: string, label: string) =>
    `${joinKey('secret-versions/', tenant, namespace, label)}/`,
} as const;

/**
 * What a watch cache of all that is stored must not hold, because it grows with what has happened instead of with what exists:
 * archives and the contents of backups are read from the store only, and events are passed on to watches and read from the store.
 */
export const cacheScope = { leavesOut: [ranges.archives, ranges.backupContents], passesOn: [ranges.events] } as const;

/** The segments after the kind: `deployments/t/web` → `['t', 'web']`. */
export function splitKey(key: string): string[] {
  return key.split('/').slice(1);
}
