import type { AdviceRecord, Recommendation } from '../../crds/recommendation/index.js';
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

type Told = AdviceRecord['told'][number];

/** What to write and to announce. */
interface AdviceDecision {
  /** The record itself when nothing has changed; undefined when there is nothing to remember. */
  readonly record: AdviceRecord | undefined;
  readonly current: readonly Recommendation[];
  readonly appeared: readonly Recommendation[];
  /** Those that are more urgent than when they were announced, or less. */
  readonly changed: readonly Recommendation[];
  readonly vanished: readonly Told[];
  /** When to look again although nothing wakes the loop: a volume that stays nearly empty becomes a recommendation then. */
  readonly againMs: number | undefined;
}

/** Compares what holds with what was announced: each difference is announced once, whatever was missed in between. */
export function decideAdvice({ id, state, tenant, before }: AdviceInput): AdviceDecision {
  const lowSince = state && findLowSince(state, before?.lowSince, tenant.now);
  const current = state ? recommend([{ ...state, lowSince }], tenant) : [];
  const told = before?.told ?? [];
  const findTold = ({ id: known }: Pick<Told, 'id'>) => told.find(each => each.id === known);
  const waitMs = lowSince === undefined ? 0 : Date.parse(lowSince) + LOW_MS - tenant.now;
  const next: AdviceRecord = {
    volume: { id, name: state?.volume.name ?? before?.volume.name ?? id },
    ...(lowSince !== undefined && { lowSince }),
    told: current.map(({ id: known, type, priority }) => ({ id: known, type, priority })),
  };
  const isKept = next.told.length > 0 || next.lowSince !== undefined;
  return {
    record: before && isSame(before, next) ? before : isKept ? next : undefined,
    current,
    appeared: current.filter(each => !findTold(each)),
    changed: current.filter(each => findTold(each) !== undefined && findTold(each)?.priority !== each.priority),
    vanished: told.filter(each => !current.some(({ id: known }) => known === each.id)),
    againMs: waitMs > 0 ? waitMs : undefined,
  };
}

function isSame(before: AdviceRecord, next: AdviceRecord): boolean {
  const format = ({ volume, lowSince, told }: AdviceRecord) =>
    JSON.stringify([volume.name, lowSince, told.map(({ id, priority }) => [id, priority])]);
  return format(before) === format(next);
}
