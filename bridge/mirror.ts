import { hashSpec } from '../crds/meta/index.js';

/** On objects of the cluster: they stay until what they stand for in Mooring is gone. */
export const FINALIZER = 'mooring.io/bridge';
/** The annotation that names the one object in Mooring that an object of the cluster stands for. */
export const UID = 'mooring.io/uid';
/** Beside it, the uid of the object that it was written on: a copy of that object, here or in another cluster, has another uid. */
const UID_OF = 'mooring.io/uid-of';
/** The annotation of an object in Mooring that names the one object of a cluster that it belongs to. */
const SOURCE = 'kubernetes-bridge/uid';

/** An object of either side, as far as the bridge reads it. */
export interface MirroredObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** What one side was found to have. `unknown`: it could not be read. */
export type Side = MirroredObject | 'absent' | 'unknown';

/** How the bridge treats the objects of a kind. */
export interface MirroredKind {
  readonly plural: string;
  readonly kind: string;
  /** The fields of the spec that Mooring changes once the object exists. */
  readonly changed: 'all' | readonly string[];
  /** Whether what was deleted in Mooring is made again: not what ran once, and not what held data. */
  readonly isMadeAgain: boolean;
}

/** What is remembered in the status of the object of the cluster about what was sent last. */
export interface MirrorRecord {
  readonly specHash: string;
  /** Of all that Mooring does not change. */
  readonly fixedHash?: string;
  /** Of the object in Mooring, when it was sent. */
  readonly generation: number;
  /** The fields that were sent: one that is named no longer is taken back. */
  readonly fields: readonly string[];
}

/** What the conditions of the object of the cluster say. */
export interface SyncReport {
  readonly synced: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** The name is taken by an object that the bridge did not create. */
  readonly isConflict?: true;
}

/** The next thing to do about one name. Each is decided from what both sides have now. */
export type MirrorStep =
  | { readonly do: 'leave' }
  | { readonly do: 'prepare' | 'hold' | 'adopt' | 'create' | 'update' | 'release' }
  | { readonly do: 'pin' | 'delete'; readonly uid: string }
  | ({ readonly do: 'report' } & SyncReport);

/**
 * Decides the next step for one name.
 *
 * Nothing is deleted unless both sides were read, the object of the cluster is being deleted, and each side names the other.
 */
export function decideMirror(kind: MirroredKind, cluster: Side, mooring: Side): MirrorStep {
  if (typeof cluster === 'string') return { do: 'leave' };
  const isDeleting = cluster.metadata.deletionTimestamp !== undefined;
  if (isDeleting && !isHeld(cluster)) return { do: 'leave' };
  if (mooring === 'unknown')
    return toReportStep('Unknown', 'MooringUnreadable', 'Mooring could not be read; nothing is changed.');
  if (isDeleting) return decideDeletion(cluster, mooring);

  if (mooring === 'absent') return decideCreation(kind, cluster);
  if (!isOwned(cluster, mooring) && !isHandedOver(cluster, mooring)) return reportConflict(mooring);
  if (!isHeld(cluster)) return { do: 'hold' };
  const { uid, deletionTimestamp } = mooring.metadata;
  if (isOwned(cluster, mooring) && readPin(cluster) !== uid) return { do: 'pin', uid };
  if (deletionTimestamp !== undefined) return toReportStep('False', 'BeingDeleted', 'It is being deleted in Mooring.');
  if (!isOwned(cluster, mooring)) return { do: 'adopt' };
  return decideChange(kind, cluster, mooring);
}

function decideDeletion(cluster: MirroredObject, mooring: MirroredObject | 'absent'): MirrorStep {
  if (mooring === 'absent' || !isOwned(cluster, mooring)) return { do: 'release' };
  const { uid, deletionTimestamp } = mooring.metadata;
  if (readPin(cluster) !== uid) return { do: 'pin', uid };
  if (deletionTimestamp === undefined) return { do: 'delete', uid };
  return toReportStep('False', 'BeingDeleted', 'It is being deleted in Mooring, and goes here when it is gone there.');
}

function decideCreation({ isMadeAgain }: MirroredKind, cluster: MirroredObject): MirrorStep {
  const isPrepared = isHeld(cluster) && cluster.metadata.annotations?.[UID] === undefined;
  if (isPrepared) return { do: 'create' };
  if (isMadeAgain || readPin(cluster) === undefined) return { do: 'prepare' };
  return toReportStep(
    'False',
    'Gone',
    'It was removed in Mooring and is not made again: delete it here, and create it again.',
  );
}

function decideChange(kind: MirroredKind, cluster: MirroredObject, mooring: MirroredObject): MirrorStep {
  const sent = readMirrorRecord(cluster);
  const isSent = sent?.specHash === hashWanted(cluster);
  if (kind.changed !== 'all')
    return isSent ? reportSynced() : decideFewFields(kind.kind, kind.changed, cluster, mooring);
  if (!isSent) return { do: 'update' };
  if (sent.generation === (mooring.metadata.generation ?? 0)) return reportSynced();
  // What was found not to work is not sent again: the two sides would take turns for ever.
  if (isRolledBack(mooring)) {
    const message = 'The rollout failed and Mooring went back to an earlier revision: change the spec to try again.';
    return toReportStep('False', 'RolledBack', message);
  }
  return { do: 'update' };
}

/** Of a kind that is changed in few fields, or in none. What Mooring has changed there since stays: a volume that it grew is not shrunk. */
function decideFewFields(
  kind: string,
  changed: readonly string[],
  cluster: MirroredObject,
  mooring: MirroredObject,
): MirrorStep {
  const sent = readMirrorRecord(cluster);
  const [wanted, found] = [splitSpec(cluster, changed), splitSpec(mooring, changed)];
  const isKept = sent ? sent.fixedHash === hashFixed(cluster, changed) : includes(found.fixed, wanted.fixed);
  // Without a record it is unknown who has changed it: its value is kept, unless more is asked for.
  const isAsked = sent ? !includes(found.open, wanted.open) : isMore(found.open, wanted.open);
  if (isKept) return isAsked ? { do: 'update' } : reportSynced();
  const others = changed.length > 0 ? `, except for ${changed.join(', ')}: undo that, or` : ':';
  return toReportStep(
    'False',
    'Immutable',
    `A ${kind} is not changed once it exists${others} delete it, and create it again.`,
  );
}

type Spec = Readonly<Record<string, unknown>>;

/** The fields of a spec that are changed, and the others. */
function splitSpec({ spec = {} }: MirroredObject, changed: readonly string[]): { open: Spec; fixed: Spec } {
  const pick = (isOpen: boolean) =>
    Object.fromEntries(Object.entries(spec).filter(([field]) => changed.includes(field) === isOpen));
  return { open: pick(true), fixed: pick(false) };
}

function isMore(found: Spec, wanted: Spec): boolean {
  return Object.entries(wanted).some(([field, value]) => Number(value) > Number(found[field] ?? 0));
}

/** Whether all that is named in `wanted` is so in `found`, which may have more. */
function includes(found: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null || typeof found !== 'object' || found === null) {
    return found === wanted;
  }
  if (Array.isArray(wanted) !== Array.isArray(found)) return false;
  if (Array.isArray(wanted) && wanted.length !== (found as readonly unknown[]).length) return false;
  return Object.entries(wanted).every(([key, each]) => includes((found as Record<string, unknown>)[key], each));
}

function isRolledBack({ status }: MirroredObject): boolean {
  const { failure } = (status?.['rollout'] ?? {}) as { readonly failure?: { readonly rolledBackTo?: number } };
  return failure?.rolledBackTo !== undefined;
}

function toReportStep(synced: SyncReport['synced'], reason: string, message: string): MirrorStep {
  return { do: 'report', synced, reason, message };
}

function reportSynced(): MirrorStep {
  return toReportStep('True', 'Synced', 'Mooring has what is asked for here.');
}

function reportConflict({ metadata: { name, uid, annotations } }: MirroredObject): MirrorStep {
  const cause = `${name}: Mooring has another object of this name`;
  const message =
    annotations?.[SOURCE] === undefined
      ? `${cause}, which the bridge did not create: delete it there, rename this one, or hand it over with the annotation ${UID}=${uid}.`
      : `${cause}, which belongs to another object of a cluster: rename this one, or, when that object is gone, remove the annotation ${SOURCE} in Mooring and hand it over with ${UID}=${uid} here.`;
  return { do: 'report', synced: 'False', reason: 'Conflict', message, isConflict: true };
}

/** The object in Mooring that this very object stands for. One that was copied along with the annotations is a claim, and no more. */
function readPin({ metadata: { uid, annotations } }: MirroredObject): string | undefined {
  return annotations?.[UID_OF] === uid ? annotations[UID] : undefined;
}

function isOwned(cluster: MirroredObject, { metadata: { annotations } }: MirroredObject): boolean {
  return annotations?.[SOURCE] === cluster.metadata.uid;
}

/** The cluster names an object of Mooring that has no owner. */
function isHandedOver({ metadata }: MirroredObject, { metadata: { uid, annotations } }: MirroredObject): boolean {
  return annotations?.[SOURCE] === undefined && metadata.annotations?.[UID] === uid;
}

function isHeld({ metadata: { finalizers } }: MirroredObject): boolean {
  return finalizers?.includes(FINALIZER) ?? false;
}

/** Of an object of the cluster: what is sent to Mooring. */
export function hashWanted({ spec = {}, metadata: { labels = {} } }: MirroredObject): string {
  return hashSpec({ spec, labels });
}

function hashFixed(cluster: MirroredObject, changed: readonly string[]): string {
  return hashWanted({ ...cluster, spec: splitSpec(cluster, changed).fixed });
}

/** What was sent last, where the status records it. */
export function readMirrorRecord({ status }: MirroredObject): MirrorRecord | undefined {
  const { specHash, fixedHash, generation, fields } = (status?.['mirror'] ?? {}) as Partial<MirrorRecord>;
  if (typeof specHash !== 'string' || typeof generation !== 'number' || !Array.isArray(fields)) return undefined;
  return { specHash, generation, fields, ...(fixedHash !== undefined && { fixedHash }) };
}

/** The metadata that the object of the cluster is given before Mooring is asked to create it. */
export function prepare(cluster: MirroredObject): MirroredObject {
  return hold({ ...cluster, metadata: { ...cluster.metadata, annotations: withoutPin(cluster) } });
}

/** The metadata that names the object in Mooring. */
export function pin(cluster: MirroredObject, uid: string): MirroredObject {
  const annotations = { ...cluster.metadata.annotations, [UID]: uid, [UID_OF]: cluster.metadata.uid };
  return hold({ ...cluster, metadata: { ...cluster.metadata, annotations } });
}

/** The metadata with the finalizer. */
export function hold(cluster: MirroredObject): MirroredObject {
  const finalizers = [...new Set([...(cluster.metadata.finalizers ?? []), FINALIZER])];
  return { ...cluster, metadata: { ...cluster.metadata, finalizers } };
}

/** The metadata without what the bridge has added. */
export function release(cluster: MirroredObject): MirroredObject {
  const finalizers = (cluster.metadata.finalizers ?? []).filter(each => each !== FINALIZER);
  return { ...cluster, metadata: { ...cluster.metadata, annotations: withoutPin(cluster), finalizers } };
}

function withoutPin({ metadata: { annotations = {} } }: MirroredObject): Readonly<Record<string, string>> {
  const { [UID]: _pin, [UID_OF]: _of, ...others } = annotations;
  return others;
}

/** The object in Mooring that is handed over: it says from then on what it belongs to. */
export function toAdopted(cluster: MirroredObject, { status: _status, ...mooring }: MirroredObject): MirroredObject {
  const annotations = { ...mooring.metadata.annotations, [SOURCE]: cluster.metadata.uid };
  return { ...mooring, metadata: { ...mooring.metadata, annotations } };
}

/** The object that Mooring is asked to create: it says what for, so that it is known again after a crash. */
export function toCreated({ kind }: MirroredKind, { metadata, spec = {} }: MirroredObject): object {
  const { name, uid, labels } = metadata;
  const annotations = { [SOURCE]: uid };
  return { apiVersion: 'mooring.io/v1', kind, metadata: { name, ...(labels && { labels }), annotations }, spec };
}

/**
 * The object that Mooring is asked to have: fields that the cluster names are the cluster's, and those that it has named before
 * and no longer does are taken back. All others stay as Mooring has them.
 */
export function toChanged({ changed }: MirroredKind, cluster: MirroredObject, mooring: MirroredObject): object {
  const { metadata, spec = {} } = cluster;
  const former = readMirrorRecord(cluster)?.fields ?? [];
  const kept = Object.entries(mooring.spec ?? {}).filter(([field]) => !former.includes(field));
  const labels = metadata.labels ?? (former.includes('labels') ? {} : mooring.metadata.labels);
  const { labels: _labels, ...rest } = mooring.metadata;
  const { status: _status, ...object } = mooring;
  if (changed !== 'all') return { ...object, spec: { ...mooring.spec, ...splitSpec(cluster, changed).open } };
  return {
    ...object,
    metadata: { ...rest, ...(labels && { labels }) },
    spec: { ...Object.fromEntries(kept), ...spec },
  };
}

/** What is remembered of a version that Mooring has taken. */
export function toRecord({ changed }: MirroredKind, cluster: MirroredObject, mooring: MirroredObject): MirrorRecord {
  const { spec = {}, metadata } = cluster;
  const fields = [...Object.keys(spec), ...(metadata.labels ? ['labels'] : [])].toSorted();
  const fixedHash = changed === 'all' ? {} : { fixedHash: hashFixed(cluster, changed) };
  return { specHash: hashWanted(cluster), ...fixedHash, generation: mooring.metadata.generation ?? 0, fields };
}
