import type { HistoryRecord, ReadRecord, Violation, WriteRecord } from './records.js';

/** The value of one key. */
export interface KeyState {
  /** 0: absent. Negative: the revision of an unacknowledged write, which is learnt from the first read of it. */
  readonly revision: number;
  readonly bytes: string | undefined;
}

/** An operation on one key, with what it does to a state: undefined when it cannot have happened on it. */
interface Operation {
  readonly begin: number;
  /** Infinity when it may take effect at any later time, or never. */
  readonly end: number;
  readonly isOptional: boolean;
  readonly describe: string;
  readonly apply: (state: KeyState) => KeyState | undefined;
}

const ABSENT: KeyState = { revision: 0, bytes: undefined };

/**
 * Whether the operations on each key can be put in one order that respects time: Wing and Gong's search with Lowe's
 * memory, key by key. It knows nothing of etcd's revisions beyond that a guard compares them. `initial` has the keys that
 * were there before.
 */
export function checkLinearizability(
  history: readonly HistoryRecord[],
  initial: ReadonlyMap<string, KeyState> = new Map(),
): Violation[] {
  const keys = new Map<string, Operation[]>();
  const add = (key: string, operation: Operation) => {
    const operations = keys.get(key);
    if (operations) operations.push(operation);
    else keys.set(key, [operation]);
  };
  let unacknowledged = 0;
  /** The changes of a key that clients were told of, and whether one of those who were has a proof. */
  const made = new Map<string, boolean>();
  /** Whether another client was told that it made the very same change of a key: see `checkExactlyOnce`. */
  const isRepeated = (key: string, { outcome, revision, isProven = false }: WriteRecord) => {
    if (outcome !== 'stored') return false;
    const change = `${revision} ${key}`;
    const before = made.get(change);
    made.set(change, isProven || before === true);
    return before !== undefined && !(before && isProven);
  };
  for (const record of history) {
    if (record.kind === 'read') add(record.key, readOperation(record));
    if (record.kind !== 'write') continue;
    for (const [key, operation] of writeOperations(record, () => --unacknowledged))
      if (!isRepeated(key, record)) add(key, operation);
  }
  return [...keys].flatMap(([key, operations]) => checkKey(key, operations, initial.get(key) ?? ABSENT));
}

function readOperation({ begin, end, revision, bytes, process }: ReadRecord): Operation {
  return {
    begin,
    end,
    isOptional: false,
    describe: `${process} read revision ${revision}`,
    apply: state => {
      if (state.bytes !== bytes) return undefined;
      if (state.revision === revision) return state;
      return state.revision < 0 && revision > 0 ? { revision, bytes } : undefined;
    },
  };
}

function writeOperations(record: WriteRecord, nextUnacknowledged: () => number): [string, Operation][] {
  const { begin, end, outcome, writes, process, fence, revision } = record;
  if (outcome === 'failed') return [];
  // The answer does not say which of several guards failed.
  if (outcome === 'refused' && (writes.length > 1 || fence !== undefined)) return [];
  const isOptional = outcome === 'unknown';
  const after = isOptional ? nextUnacknowledged() : revision!;
  return writes.map(({ key, guardedAt, bytes }): [string, Operation] => {
    const describe = `${process} ${outcome} a write guarded at ${guardedAt}${revision ? ` at revision ${revision}` : ''}`;
    const holds = ({ revision: at }: KeyState) => at === guardedAt || (at < 0 && guardedAt > 0);
    const apply = (state: KeyState): KeyState | undefined => {
      if (outcome === 'refused') return state.revision === guardedAt ? undefined : state;
      if (!holds(state)) return undefined;
      return bytes === undefined ? ABSENT : { revision: after, bytes };
    };
    return [key, { begin, end: isOptional ? Infinity : end, isOptional, describe, apply }];
  });
}

/** As many as a person can compare. */
const FEW = 30;

function listFew(operations: readonly Operation[]): string {
  if (operations.length > FEW) return '';
  const lines = operations.map(({ begin, end, describe }) => `${begin.toFixed(1)} to ${end.toFixed(1)}: ${describe}`);
  return `; ${lines.join('; ')}`;
}

interface Step {
  readonly operation: number;
  readonly state: KeyState;
  /** The place from which the search goes on when this step was wrong. */
  readonly from: number;
}

/** Steps of the search of one key after which it is given up as undecided: never reached by a history of real clients. */
const MOST_STEPS = 2_000_000;

function checkKey(key: string, unsorted: readonly Operation[], initial: KeyState): Violation[] {
  const operations = unsorted.toSorted((a, b) => a.begin - b.begin);
  const required = operations.filter(({ isOptional }) => !isOptional).length;
  const isDone = new Uint8Array(operations.length);
  const seen = new Set<string>();
  const steps: Step[] = [];
  let state = initial;
  let done = 0;
  let deepest = 0;
  let stuckAt = '';
  let tried = 0;
  /** Everything before this is done, so it need not be part of what is remembered. */
  let floor = 0;
  for (let next = 0; done < required; ) {
    if (++tried > MOST_STEPS) return [{ promise: 'linearizable', because: `${key}: too many steps to decide` }];
    const found = nextStep(next);
    if (found) {
      steps.push({ operation: found.operation, state, from: found.operation + 1 });
      isDone[found.operation] = 1;
      if (!operations[found.operation]!.isOptional) done++;
      state = found.state;
      if (done > deepest) [deepest, stuckAt] = [done, operations[found.operation]!.describe];
      next = 0;
      continue;
    }
    const last = steps.pop();
    if (!last) {
      const placed = `${deepest} of ${required} could be placed, the last one: ${stuckAt || 'none'}`;
      const because = `${key}: no order of its ${operations.length} operations explains them; ${placed}${listFew(operations)}`;
      return [{ promise: 'linearizable', because }];
    }
    isDone[last.operation] = 0;
    if (!operations[last.operation]!.isOptional) done--;
    state = last.state;
    next = last.from;
  }
  return [];

  /** The first operation from `next` on that may come now: it began before any other that is left has ended. */
  function nextStep(next: number): { readonly operation: number; readonly state: KeyState } | undefined {
    floor = 0;
    while (isDone[floor] === 1) floor++;
    let earliestEnd = Infinity;
    for (let n = floor; n < operations.length; n++) {
      const operation = operations[n]!;
      if (isDone[n] === 1) continue;
      if (operation.begin > earliestEnd) return undefined;
      if (n >= next) {
        const after = operation.apply(state);
        if (after && isNew(n, after)) return { operation: n, state: after };
      }
      earliestEnd = Math.min(earliestEnd, operation.end);
    }
    return undefined;
  }

  /** Whether this set of operations with this state has not been tried. */
  function isNew(operation: number, after: KeyState): boolean {
    let set = '';
    let lowest = floor;
    isDone[operation] = 1;
    while (isDone[lowest] === 1) lowest++;
    for (let n = lowest; n < operations.length; n++) if (isDone[n] === 1) set += `,${n}`;
    isDone[operation] = 0;
    const configuration = `${lowest}${set}|${after.revision}|${after.bytes}`;
    if (seen.has(configuration)) return false;
    seen.add(configuration);
    return true;
  }
}
