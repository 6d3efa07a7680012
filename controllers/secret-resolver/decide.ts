import { isDeepStrictEqual } from 'node:util';

import type { UnresolvedRecord } from '../../crds/delivery/index.js';
import type { SecretVersions, UnresolvedExplanation } from '../../pkg/secrets/index.js';
import type { ObservedReplica } from '../reading/index.js';

const COUNT_INTERVAL_MS = 60_000;
const RETRY = { firstMs: 1_000, lastMs: 5_000 } as const;

/** How long an agent gets to act on a stamp before it is renewed. */
export const RENEW_MS = 3_000;

/**
 * Whether a replica is to be stamped with these versions. One that has them already is stamped again only when its agent
 * could not fetch them: the agent then receives the replica again, with a new ticket.
 */
export function needsStamp({ replica }: ObservedReplica, versions: SecretVersions, now: number): boolean {
  const { resolved } = replica;
  if (!resolved || !isDeepStrictEqual(resolved.versions, versions)) return true;
  return Math.abs(now - Date.parse(resolved.at)) >= RENEW_MS;
}

/** Decides what to report: one event for one cause, counted up at most once a minute. */
export function decideUnresolvedUpdate(
  { reason, message, replicas }: UnresolvedExplanation & Pick<UnresolvedRecord, 'replicas'>,
  stored: UnresolvedRecord | undefined,
  now: number,
): 'nothing' | 'again' | 'new' {
  if (stored?.reason !== reason || stored.message !== message) return 'new';
  if (stored.replicas !== replicas) return 'again';
  return Math.abs(now - Date.parse(stored.lastSeenAt)) >= COUNT_INTERVAL_MS ? 'again' : 'nothing';
}

/** When to look again, since a secrets store does not announce its recovery: soon at first, then every few seconds. */
export function computeRetryMs(since: string, now: number): number {
  const age = Math.max(0, now - Date.parse(since));
  return Math.min(RETRY.lastMs, RETRY.firstMs + age / 2);
}
