import type { AdviceRecord, Recommendation, RefusedGrowth } from '../../crds/recommendation/index.js';
import { findLowSince, LOW_MS, recommend, type TenantState, type VolumeState } from '../../pkg/recommend/index.js';

/** Everything that the next record about a volume is derived from. */
interface AdviceInput {
  readonly id: string;
  /** Undefined when there is no such volume any more. */
  readonly state: VolumeState | undefined;
  readonly tenant: TenantState;
  /** What is stored now; left out when there is nothing, or it cannot be worked with. */
  readonly before: AdviceRecord | undefined;
}

type AnnouncedAdvice = AdviceRecord['told'][number];

/** What to write and to announce. */
interface AdviceDecision {
  /** The record itself when nothing has changed; undefined when there is nothing to remember. */
  readonly record: AdviceRecord | undefined;
  readonly current: readonly Recommendation[];
  readonly appeared: readonly Recommendation[];
  /** Those that are more urgent than when they were announced, or less. */
  readonly changed: readonly Recommendation[];
  readonly vanished: readonly AnnouncedAdvice[];
  /** Whether its node refused a growth so recently that none is to be asked for by itself. */
  readonly isHeldBack: boolean;
  /** When to look again although nothing wakes the loop: a volume that stays nearly empty becomes a recommendation then. */
  readonly againMs: number | undefined;
}

/** How long nothing grows a volume by itself after its node refused a growth that was taken back. */
export const REFUSED_MS = 3_600_000;

/** Compares what holds with what was announced: each difference is announced once, whatever was missed in between. */
export function decideAdvice({ id, state, tenant, before }: AdviceInput): AdviceDecision {
  const lowSince = state && findLowSince(state, before?.lowSince, tenant.now);
  const current = state ? recommend([{ ...state, lowSince }], tenant) : [];
  const told = before?.told ?? [];
  const findAnnounced = ({ id: known }: Pick<AnnouncedAdvice, 'id'>) => told.find(each => each.id === known);
  const refused = state && findRefused(state, before?.refused, tenant.now);
  const waits = [
    ...(lowSince === undefined ? [] : [Date.parse(lowSince) + LOW_MS - tenant.now]),
    ...(refused?.at === undefined ? [] : [Date.parse(refused.at) + REFUSED_MS - tenant.now]),
  ].filter(ms => ms > 0);
  const next: AdviceRecord = {
    volume: { id, name: state?.volume.name ?? before?.volume.name ?? id },
    ...(lowSince !== undefined && { lowSince }),
    ...(refused && { refused }),
    told: current.map(({ id: known, type, priority }) => ({ id: known, type, priority })),
  };
  const isKept = next.told.length > 0 || next.lowSince !== undefined || next.refused !== undefined;
  return {
    record: before && isSame(before, next) ? before : isKept ? next : undefined,
    current,
    appeared: current.filter(each => !findAnnounced(each)),
    changed: current.filter(
      each => findAnnounced(each) !== undefined && findAnnounced(each)?.priority !== each.priority,
    ),
    vanished: told.filter(each => !current.some(({ id: known }) => known === each.id)),
    isHeldBack: refused !== undefined,
    againMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

/** The growth that counts as refused: as long as it is asked for, for a while afterwards, and until there is more room than there was. */
function findRefused(
  { volume: { sizeBytes: bytes }, isRefused, capacityBytes = bytes, roomBytes }: VolumeState,
  known: RefusedGrowth | undefined,
  now: number,
): RefusedGrowth | undefined {
  if (isRefused && capacityBytes < bytes) {
    return known?.bytes === bytes && known.at === undefined
      ? known
      : { bytes, ...(roomBytes !== undefined && { roomBytes }) };
  }
  if (!known || capacityBytes >= known.bytes || (roomBytes ?? 0) > (known.roomBytes ?? Infinity)) return undefined;
  const { at = new Date(now).toISOString(), ...rest } = known;
  return now < Date.parse(at) + REFUSED_MS ? { ...rest, at } : undefined;
}

function isSame(before: AdviceRecord, next: AdviceRecord): boolean {
  const format = ({ volume, lowSince, refused, told }: AdviceRecord) => {
    const { bytes, roomBytes, at } = refused ?? {};
    return JSON.stringify([
      volume.name,
      lowSince,
      bytes,
      roomBytes,
      at,
      told.map(({ id, priority }) => [id, priority]),
    ]);
  };
  return format(before) === format(next);
}
