import { type Static, Type } from 'typebox';

import type { FieldPath } from '../grammar/index.js';
import { annotate, type FieldRules, type FieldError, fixByRemoval, type Refuse, rule } from '../rule/index.js';
import type { KnownVolume, MountType } from '../volume/index.js';
import type { WorkloadContext as Context } from './context.js';

/** A volume in a container, as it is stored. */
export interface VolumeMount {
  readonly volumeId: string;
  readonly type: MountType;
  readonly mountPath: string;
  readonly readOnly: boolean;
  readonly subPath?: string;
}

const MOUNTS_MAX = 32;
const shape = annotate({ 'x-reject': 'volume_mount_shape' });
const byRules = annotate({ 'x-rules': true });
const volumeId = { pattern: '^vol_[0-9a-hjkmnp-tv-z]{26}$', ...shape };

export const volumesSchema = Type.Array(
  Type.Object(
    {
      volumeId: Type.Optional(Type.String(volumeId)),
      volume_id: Type.Optional(Type.String({ ...volumeId, ...annotate({ 'x-transient': true }) })),
      type: Type.Optional(Type.Enum(['volume', 'bind', 'tmpfs'], { type: 'string', ...shape })),
      mountPath: Type.String({ minLength: 2, maxLength: 4096, ...byRules }),
      readOnly: Type.Optional(Type.Boolean(shape)),
      subPath: Type.Optional(Type.String({ maxLength: 4096, ...byRules })),
    },
    { additionalProperties: false, ...shape },
  ),
  { maxItems: MOUNTS_MAX },
);

/** Mounts as a client sends them, once the rules have passed them. */
export type MountsInput = Static<typeof volumesSchema>;

/** A mount of which nothing is known yet. */
export type RawMount = { readonly [Part in keyof MountsInput[number]]?: unknown };

/** The volume of a mount, by either of the names it goes by. */
export function getVolumeId(mount: RawMount): string | undefined {
  const id = mount.volumeId ?? mount.volume_id;
  return typeof id === 'string' ? id : undefined;
}

/** Every volume that is mounted. */
export function listVolumeIds(mounts: readonly RawMount[]): readonly string[] {
  return mounts.flatMap(mount => getVolumeId(mount) ?? []);
}

const mountsHaveShape = rule('volume_mount_shape', (mounts: readonly RawMount[], at, refuse) =>
  mounts.flatMap((mount, position) => [
    ...checkId(mount, at.index(position), refuse),
    ...(isMountPath(mount.mountPath) && !isRepeated(mounts, position)
      ? []
      : [refuse(at.index(position).child('mountPath'), mount.mountPath)]),
    ...(isSubPath(mount.subPath) ? [] : [refuse(at.index(position).child('subPath'), mount.subPath)]),
  ]),
);

function checkId(mount: RawMount, at: FieldPath, refuse: Refuse<'volume_mount_shape'>): readonly FieldError[] {
  const { volumeId: id, volume_id: alias } = mount;
  if (id === undefined) return alias === undefined ? [refuse(at.child('volumeId'), undefined)] : [];
  return alias === undefined ? [] : [fixByRemoval(refuse(at.child('volume_id'), alias))];
}

/** Absolute, in its shortest form, and not the root itself. */
function isMountPath(path: unknown): boolean {
  return typeof path === 'string' && path.startsWith('/') && isClean(path.slice(1));
}

function isSubPath(path: unknown): boolean {
  return path === undefined || path === '' || (typeof path === 'string' && isClean(path));
}

/** Neither empty nor `.` nor `..` between slashes, no NUL, and no colon, which would end the path for the engine. */
function isClean(path: string): boolean {
  return !path.split('/').some(part => part === '' || part === '.' || part === '..') && !/[\0:]/.test(path);
}

function isRepeated(mounts: readonly RawMount[], position: number): boolean {
  return mounts.findIndex(mount => mount.mountPath === mounts[position]?.mountPath) < position;
}

const mountsAreManaged = rule(
  'volume_binding_unavailable',
  (mounts: readonly RawMount[], at, refuse, { facts }: Context) =>
    facts.volumeManagement === 'off' && mounts.length > 0 ? refuse(at, listVolumeIds(mounts)) : undefined,
);

/** A question about each mount and the volume it is of; none while volume management is off. */
function aboutEach(
  mounts: readonly RawMount[],
  { facts }: Context,
  ask: (volume: KnownVolume | undefined, mount: RawMount, position: number) => FieldError | undefined,
): readonly FieldError[] {
  if (facts.volumeManagement === 'off') return [];
  return mounts.flatMap((mount, position) => {
    const id = getVolumeId(mount);
    if (id === undefined) return [];
    const known = facts.volumes.find(volume => volume.id === id);
    return ask(known, mount, position) ?? [];
  });
}

/** Where the id of a mount stands. */
function idPlace(at: FieldPath, position: number, mount: RawMount): FieldPath {
  return at.index(position).child(mount.volumeId === undefined ? 'volume_id' : 'volumeId');
}

const volumesExist = rule('volume_not_found', (mounts: readonly RawMount[], at, refuse, context: Context) =>
  aboutEach(mounts, context, (volume, mount, position) =>
    volume ? undefined : refuse(idPlace(at, position, mount), getVolumeId(mount), { in: 'body' }),
  ),
);

const WIRED = ['ephemeral', 'replicated'] as const;

const classIsWired = rule('volume_class_not_wired', (mounts: readonly RawMount[], at, refuse, context: Context) =>
  aboutEach(mounts, context, (volume, mount, position) =>
    !volume || WIRED.some(wired => wired === volume.class)
      ? undefined
      : refuse(idPlace(at, position, mount), volume.class, { wired: WIRED }),
  ),
);

const volumesAreReady = rule('volume_not_ready', (mounts: readonly RawMount[], at, refuse, context: Context) =>
  aboutEach(mounts, context, (volume, mount, position) =>
    !volume || volume.phase === 'Ready'
      ? undefined
      : refuse(idPlace(at, position, mount), getVolumeId(mount), { phase: volume.phase }),
  ),
);

/** A mount of another type than its volume would lose the bytes, or show others; memory has no folders before it is mounted. */
const mountsFitTheirVolumes = rule('volume_mount_shape', (mounts: readonly RawMount[], at, refuse, context: Context) =>
  aboutEach(mounts, context, (volume, mount, position) => {
    const place = at.index(position);
    if (!volume) return undefined;
    if (mount.type !== undefined && mount.type !== volume.type) return refuse(place.child('type'), mount.type);
    const isBelowMemory = volume.type === 'tmpfs' && mount.subPath !== undefined && mount.subPath !== '';
    return isBelowMemory ? refuse(place.child('subPath'), mount.subPath) : undefined;
  }),
);

export const volumesRules: FieldRules<Context> = {
  field: 'volumes',
  present: [mountsHaveShape, mountsAreManaged, volumesExist, mountsFitTheirVolumes, classIsWired, volumesAreReady],
};

const oneWriter = rule('volume_access_mode_conflict', (mounts: readonly RawMount[], at, refuse, context: Context) =>
  aboutEach(mounts, context, (volume, mount, position) => {
    if (!volume || mount.readOnly === true) return undefined;
    const writer = otherWriter(volume, mounts.slice(0, position), context);
    return writer === undefined
      ? undefined
      : refuse(at.index(position).child('readOnly'), mount.readOnly ?? false, { writer });
  }),
);

/** Who writes already: another workload, another replica or run of this one, or an earlier mount of the same container. */
function otherWriter(volume: KnownVolume, earlier: readonly RawMount[], context: Context): string | undefined {
  const { kind, name, document } = context;
  const other = volume.consumers.find(
    consumer => !consumer.readOnly && (kind === 'Job' || consumer.deployment !== name),
  );
  if (other) return describeConsumer(other.deployment);
  if (earlier.some(mount => getVolumeId(mount) === volume.id && mount.readOnly !== true)) return 'an earlier mount';
  const { replicas, schedule, concurrencyPolicy = 'Allow' } = document as Readonly<Record<string, unknown>>;
  if (schedule !== undefined && concurrencyPolicy === 'Allow') return 'an earlier run, with concurrencyPolicy Allow,';
  return typeof replicas === 'number' && replicas > 1 ? 'the first replica' : undefined;
}

function describeConsumer(name: string): string {
  return name.startsWith('job.') ? `the job ${name.slice('job.'.length)}` : `the deployment ${name}`;
}

const writersFollowThePrimary = rule(
  'volume_primary_mismatch',
  (mounts: readonly RawMount[], at, refuse, context: Context) => {
    const { document, facts } = context;
    const nodeId = document['nodeId'];
    if (typeof nodeId !== 'string' || facts.nodes === 'unreadable') return undefined;
    const named = facts.nodes.find(node => node.id === nodeId || node.name === nodeId);
    if (!named) return undefined;
    return aboutEach(mounts, context, (volume, mount) => {
      if (!volume || mount.readOnly === true) return undefined;
      const { primaryNode } = volume;
      if (primaryNode === undefined || primaryNode === named.id) return undefined;
      return fixByRemoval(refuse(at.upTo(0).child('nodeId'), nodeId, { primary: primaryNode }));
    })[0];
  },
);

/** What ties writers to volumes. Asked when the number of writers or their node changes, too. */
export const writerRules: FieldRules<Context> = {
  field: 'volumes',
  with: ['replicas', 'nodeId', 'schedule', 'concurrencyPolicy'],
  present: [oneWriter, writersFollowThePrimary],
};
