import type { AssignedReplication, SeenCopy, VolumePeer } from '../../../crds/volume/index.js';
import type { Random } from '../../clock/index.js';
import type { ReplicationRecord } from './record.js';

/** What is sent to one node at the moment. */
export interface Transfer {
  readonly sentBytes: number;
  readonly totalBytes: number | undefined;
}

/** What is known of one node beside the record. */
export interface CopyFacts {
  readonly transfer?: Transfer | undefined;
  /** Why the last attempt failed. */
  readonly failure?: string | undefined;
  /** By estimate. */
  readonly lagBytes?: number | undefined;
  /** How long it took to send everything, the last time. */
  readonly lastWhole?: SeenCopy['lastWhole'] | undefined;
}

/** How far the copy of one node is. Once complete it stays synced, with the moment that it shows: of a busy volume something is always under way. */
export function describeCopy(
  { nodeId, address }: VolumePeer,
  epoch: number,
  { common = {}, times = {} }: ReplicationRecord,
  { transfer, failure, lagBytes, lastWhole }: CopyFacts,
): SeenCopy {
  const last = common[nodeId];
  const syncedAt = last?.epoch === epoch ? times[last.snapshot] : undefined;
  const message = address === undefined ? NOT_LISTENING : failure;
  return {
    nodeId,
    state: syncedAt === undefined ? 'syncing' : 'synced',
    ...(syncedAt !== undefined && { syncedAt }),
    ...(lagBytes !== undefined && { lagBytes }),
    ...(transfer && { sentBytes: transfer.sentBytes }),
    ...(transfer?.totalBytes !== undefined && { totalBytes: transfer.totalBytes }),
    ...(lastWhole && { lastWhole }),
    ...(message !== undefined && { message }),
  };
}

/** Less than this says nothing about the rate: it is over before the disks are warm. */
export const WHOLE_MIN = 16 * 2 ** 20;

/** What a transfer of everything is remembered as. */
export function measureWhole(bytes: number, ms: number): Pick<CopyFacts, 'lastWhole'> {
  return bytes < WHOLE_MIN ? {} : { lastWhole: { bytes, seconds: Math.max(1, Math.ceil(ms / 1000)) } };
}

const NOT_LISTENING = 'the node takes no copies; start its agent with --volume-listen';

/** What the next step for one copy depends on. */
export interface CopyState {
  /** The newest snapshot whose moment is known. */
  readonly newest: string | undefined;
  readonly isChanged: boolean;
  /** How long ago the newest was taken; unknown after a restart. */
  readonly newestAgeMs: number | undefined;
  /** The newest that the node is known to have in this epoch. */
  readonly has: string | undefined;
  /** In how long the node is to be asked again; unknown after a restart. */
  readonly askInMs: number | undefined;
  readonly intervalMs: number;
}

/** After how long a node is asked, at the earliest, whether it still has a copy of which nothing has changed. */
const ASK_MS = 300_000;

/** After how long it is asked this time: of hundreds not all at once. */
export function chooseAskMs(random: Pick<Random, 'next'>): number {
  return ASK_MS * (1 + random.next());
}

type SyncStep = 'rest' | 'newest' | 'fresh';

/** Whether a node is brought up to date: with the newest snapshot, or with one that is taken then. */
export function decideSync(state: CopyState): SyncStep {
  const { newest, isChanged, newestAgeMs = Number.POSITIVE_INFINITY, has, askInMs = 0, intervalMs } = state;
  if (newest === undefined) return 'fresh';
  if (isChanged) return has !== newest && newestAgeMs < intervalMs ? 'newest' : 'fresh';
  return has === newest && askInMs > 0 ? 'rest' : 'newest';
}

/**
 * In how many milliseconds volumes at rest are looked at again: together, since an agent that is woken for each of hundreds by itself
 * needs a multiple of the processor time. A timer may fire up to a millisecond early: before the moment it would be twice.
 */
export function findRestLook(intervalMs: number, nowMs: number): number {
  return Math.ceil(intervalMs - (nowMs % intervalMs)) + 1;
}

/** The snapshots that are kept on the primary: what a node needs for its next difference, what is read now, and the newest. */
export function listKept(
  { common = {} }: ReplicationRecord,
  { peers }: Pick<AssignedReplication, 'peers'>,
  also: readonly (string | undefined)[],
): ReadonlySet<string> {
  const needed = peers.map(({ nodeId }) => common[nodeId]?.snapshot);
  return new Set([...needed, ...also].filter(name => name !== undefined));
}
