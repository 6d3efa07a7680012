import type { StoreHealth, StoreMember } from '../store/index.js';

/** What the size of the store means. */
export interface StoreRoom {
  /** So full that what is free in its files is given back, or that a larger quota is needed. */
  readonly nearsQuota: boolean;
  /** What is left of the quota is kept for deletions, and for what loops and agents write: tenants store nothing else. */
  readonly isReserved: boolean;
}

/** The share of the quota from which on operators are warned. */
const WARN_FROM = 0.8;

/**
 * What is kept of a quota. The bytes are for what compaction writes of the largest documents before it frees anything (16 MB of
 * documents of 900 KB, 6 MB of those of 210 KB, measured: ADR 75) and for some dozens of deletions beside it; a small quota
 * keeps an eighth.
 */
const KEPT = { share: 0.05, bytes: 24 << 20, ofSmall: 1 / 8 };
/** The reserve ends with more room than it began with, so that a few bytes do not let tenants in and out with every look. */
const UNTIL = 1.4;

/** How many bytes of a quota tenants leave to deletions. */
export function computeKeptBytes(quotaBytes: number): number {
  return Math.max(KEPT.share * quotaBytes, Math.min(KEPT.bytes, KEPT.ofSmall * quotaBytes));
}

/**
 * What the largest file of a member means for a quota. One of 0 or less is unknown: nothing is warned of, and nothing kept. What is
 * free inside of the file does not count: documents that fill hundreds of pages do not fit into it, and the quota counts the
 * file. So a reserve ends when the file is smaller, which only a defragmentation makes it.
 */
export function judgeRoom({ databaseBytes }: StoreHealth, quotaBytes: number, wasReserved: boolean): StoreRoom {
  if (quotaBytes <= 0) return { nearsQuota: false, isReserved: false };
  const kept = computeKeptBytes(quotaBytes) * (wasReserved ? UNTIL : 1);
  const isReserved = databaseBytes >= quotaBytes - kept;
  return { nearsQuota: isReserved || databaseBytes >= WARN_FROM * quotaBytes, isReserved };
}

/** What decides whether the store needs to be recovered. */
export interface RecoveryInput {
  readonly quotaBytes: number;
  /** As `judgeRoom` says, or because of the alarm. */
  readonly isReserved: boolean;
  readonly isFull: boolean;
}

/**
 * Whether a defragmentation gives back so much that it is worth the seconds in which its member answers nothing: under a reserve
 * enough for the next deletions, else a quarter of the quota, so that tenants are not stopped because of room that is free.
 */
export function isWorthDefragmenting(
  { databaseBytes, usedBytes }: Pick<StoreMember, 'databaseBytes' | 'usedBytes'>,
  { quotaBytes, isReserved, isFull }: RecoveryInput,
): boolean {
  const least = isReserved || isFull ? computeKeptBytes(quotaBytes) / 4 : quotaBytes / 4;
  return databaseBytes >= WARN_FROM * quotaBytes && databaseBytes - usedBytes >= least;
}

/**
 * The member to defragment next: followers first, the leader last, none twice. None while one is not ready, which may be because it
 * is defragmented for a process that was killed. None either as long as those that go on would be no majority; but where there is
 * one member only, and where etcd takes no data anyway, there is nothing to lose.
 */
export function chooseMember(
  members: readonly StoreMember[],
  done: ReadonlySet<string>,
  input: RecoveryInput,
): StoreMember | undefined {
  const reached = members.filter(({ endpoint }) => endpoint !== undefined);
  if (!reached.every(({ isReady }) => isReady)) return undefined;
  const isEnough = input.isFull || members.length === 1 || reached.length - 1 > members.length / 2;
  const due = reached.filter(member => !done.has(member.id) && isWorthDefragmenting(member, input));
  return isEnough ? due.toSorted((a, b) => Number(a.isLeader) - Number(b.isLeader))[0] : undefined;
}

/**
 * Whether the alarm NOSPACE may be taken back: when every member that can be reached has room for deletions. Less than what ends
 * the reserve, since under the alarm nothing can be deleted that would make more room.
 */
export function mayDisarm(members: readonly StoreMember[], quotaBytes: number): boolean {
  const reached = members.filter(({ endpoint }) => endpoint !== undefined);
  const most = quotaBytes - computeKeptBytes(quotaBytes) / 2;
  return reached.length > members.length / 2 && reached.every(({ databaseBytes }) => databaseBytes < most);
}
