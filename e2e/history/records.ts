/**
 * What clients of a store record, and what the checks of this folder judge.
 *
 * All times are milliseconds of the machine's monotonic clock, which all processes of a machine share. `storedEvents` are
 * what etcd itself says was stored, read past our own code.
 */

/** What a change did to one key. */
export interface KeyWrite {
  readonly key: string;
  /** The revision that the key had to have; 0: it had to be absent. */
  readonly guardedAt: number;
  /** Undefined when the key was to be deleted. */
  readonly bytes: string | undefined;
}

/**
 * - `stored`: acknowledged, with its revision;
 * - `refused`: a guard did not hold;
 * - `failed`: the store gave an error that promises that nothing was stored;
 * - `unknown`: the store could not find out.
 */
export type WriteOutcome = 'stored' | 'refused' | 'failed' | 'unknown';

export interface WriteRecord {
  readonly kind: 'write';
  readonly process: string;
  readonly begin: number;
  readonly end: number;
  readonly writes: readonly KeyWrite[];
  readonly outcome: WriteOutcome;
  /** Only of a stored change. */
  readonly revision?: number;
  /** It also put something of its own, so that it cannot be taken for another one with the same bytes. */
  readonly isProven?: boolean;
  /** The create revision of the leader's key that the change was guarded by. */
  readonly fence?: number;
}

export interface ReadRecord {
  readonly kind: 'read';
  readonly process: string;
  readonly begin: number;
  readonly end: number;
  readonly key: string;
  /** 0 when the key was absent. */
  readonly revision: number;
  readonly bytes: string | undefined;
  /** It was read from the cache, behind a barrier, as the API server reads. */
  readonly isFromCache?: boolean;
}

/** A lease that was asked for, extended or given back. */
export interface LeaseRecord {
  readonly kind: 'lease';
  readonly process: string;
  readonly begin: number;
  readonly end: number;
  readonly isGranted: boolean;
}

/** A tail was given a complete state. */
export interface ResetFrame {
  readonly kind: 'reset';
  readonly process: string;
  readonly at: number;
  readonly revision: number;
  /** Keys and the revisions of their last changes. */
  readonly entries: readonly (readonly [key: string, revision: number])[];
}

/** A tail was given everything that happened at one revision. */
export interface ChangeFrame {
  readonly kind: 'changes';
  readonly process: string;
  readonly at: number;
  readonly revision: number;
  /** Keys, and whether each still exists. */
  readonly changes: readonly (readonly [key: string, exists: boolean])[];
}

export type TailFrame = ResetFrame | ChangeFrame;

export type HistoryRecord = WriteRecord | ReadRecord | LeaseRecord | TailFrame;

/** One change of one key, as etcd stored it. */
export interface KeyChange {
  readonly revision: number;
  readonly key: string;
  /** The revision that created the key. */
  readonly created: number;
  /** Undefined when the key was deleted. */
  readonly bytes: string | undefined;
}

/** A promise that a history breaks. */
export interface Violation {
  readonly promise: 'linearizable' | 'nothing lost' | 'nothing doubled' | 'nothing refused' | 'fenced' | 'tail';
  readonly because: string;
}
