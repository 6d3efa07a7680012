import { isDeepStrictEqual } from 'node:util';

import { type TProperties, Type } from 'typebox';

import { formatBytes } from '../grammar/index.js';
import { reject, type Rejection } from '../rejections/index.js';
import { type CheckResult, createValidator, type FieldRules, rule, toCheckFailure } from '../rule/index.js';
import { volumeSchema } from './admission.js';
import type { KnownVolume, VolumeSpec } from './volume.js';

/** What the API has looked up. */
export interface ResizeFacts {
  readonly volume: Pick<KnownVolume, 'id' | 'phase' | 'usedBytes' | 'driver' | 'capacityBytes'> & VolumeSpec;
  /** The largest size that its node has room for; undefined where that is not known. */
  readonly roomBytes: number | undefined;
}

const { sizeBytes, ...fixed } = volumeSchema.properties;
const fixedNames = Object.keys(fixed) as readonly Exclude<keyof VolumeSpec, 'sizeBytes'>[];
const anyOf = (names: readonly string[]): TProperties =>
  Object.fromEntries(names.map(name => [name, Type.Optional(Type.Unknown())]));

/** `PATCH /api/v1/dvm/volumes/{id}`. The other fields may be sent as they are stored. */
export const volumeResizeSchema = Type.Object({ sizeBytes, ...anyOf(fixedNames) }, { additionalProperties: false });

const isKept = (name: (typeof fixedNames)[number]) =>
  rule('field_immutable', (sent: unknown, at, refuse, { volume }: ResizeFacts) => {
    const current = volume[name];
    if (isDeepStrictEqual(sent, current)) return undefined;
    return refuse(at, sent, { current: current === undefined ? 'nothing' : JSON.stringify(current) });
  });

const fields: readonly FieldRules<ResizeFacts>[] = [
  { field: 'sizeBytes', present: [] },
  ...fixedNames.map(field => ({ field, present: [isKept(field)] })),
];

const validate = createValidator(volumeResizeSchema, fields);

/** Judges a request for another size: its body first, then the state of the volume, then whether the size is possible. */
export function checkVolumeResize(document: unknown, facts: ResizeFacts): CheckResult<{ readonly sizeBytes: number }> {
  const refused = toCheckFailure(validate(document, () => facts));
  if (refused) return refused;
  const asked = (document as { readonly sizeBytes: number }).sizeBytes;
  const problem = findSizeProblem(asked, facts);
  const stateRefusal = rejectState(facts);
  if (stateRefusal) return toCheckFailure([stateRefusal])!;
  if (problem !== undefined) {
    return toCheckFailure([reject('volume_size_unavailable', 'sizeBytes', asked, { wanted: problem })])!;
  }
  return { ok: true, value: { sizeBytes: asked } };
}

function rejectState({ volume: { id, class: kind, phase } }: ResizeFacts): Rejection | undefined {
  if (kind === 'object') return reject('volume_class_not_wired', 'id', id, { wired: ['ephemeral', 'replicated'] });
  return phase === 'Ready' || phase === 'Resizing' ? undefined : reject('volume_not_ready', 'id', id, { phase });
}

/** Why a volume cannot have a size, as the size that it could have. */
export function findSizeProblem(asked: number, { volume, roomBytes }: ResizeFacts): string | undefined {
  const { usedBytes = 0 } = volume;
  if (asked < usedBytes) return `at least ${usedBytes} bytes (${formatBytes(usedBytes)}), which the volume holds now`;
  const floor = findShrinkFloor(volume);
  if (asked < floor) return `at least ${floor} bytes (${formatBytes(floor)}): the driver btrfs shrinks none below that`;
  if (asked <= volume.sizeBytes || roomBytes === undefined || asked <= roomBytes) return undefined;
  const most = Math.max(roomBytes, volume.sizeBytes);
  return `at most ${most} bytes (${formatBytes(most)}), for which its node has room`;
}

/** What btrfs makes at least, and what it shrinks none below that is larger. */
const BTRFS_MIN = 128 * 2 ** 20;
const BTRFS_SHRINK_FLOOR = 256 * 2 ** 20;

/** The smallest size that can be asked for, as far as the driver that has the volume is known. */
function findShrinkFloor({ driver, capacityBytes = 0 }: ResizeFacts['volume']): number {
  if (driver !== 'btrfs' || capacityBytes <= BTRFS_MIN) return 0;
  return Math.min(BTRFS_SHRINK_FLOOR, capacityBytes);
}
