import { isDeepStrictEqual } from 'node:util';

import type { Unresolved } from '../../crds/delivery/index.js';
import type { SecretVersions, UnresolvedExplanation } from '../../pkg/secrets/index.js';
import type { ObservedReplica } from '../reading/index.js';

const COUNT_AT_MOST_EVERY_MS = 60_000;
const LOOK_AGAIN = { firstMs: 1_000, lastMs: 5_000 } as const;

/** The words of an agent that found, at the last moment, that secrets cannot be had. */
const AGENTS_WORDS: ReadonlySet<string> = new Set(['secrets_unresolved', 'secret_store_unavailable']);

/** What is to be said about replicas whose secrets cannot be had. */
export type UnresolvedUpdate = 'nothing' | 'again' | 'new';

/**
 * Whether the secrets of a replica are to be looked up now: it has a node and is to stay, and its secrets were not found
 * yet, or its agent could not get them in the versions that were.
 */
export function needsResolving({ replica, report }: ObservedReplica): boolean {
  if (replica.nodeId === undefined || replica.retiringSince !== undefined || !replica.template.secrets?.length) {
    return false;
  }
  return replica.resolved === undefined || isLeftWithout(report);
}

function isLeftWithout(report: ObservedReplica['report']): boolean {
  return report?.state === 'failed' && report.containerId === undefined && AGENTS_WORDS.has(report.reason ?? '');
}

/** How long an agent gets to act on a stamp before it is renewed. */
export const RENEW_MS = 3_000;

/**
 * Whether a replica is to be stamped with these versions. One that has them already is stamped anew only when its agent
 * did not get them: it then hears of the replica again, with a fresh ticket.
 */
export function needsStamp({ replica }: ObservedReplica, versions: SecretVersions, now: number): boolean {
  const { resolved } = replica;
  if (!resolved || !isDeepStrictEqual(resolved.versions, versions)) return true;
  return Math.abs(now - Date.parse(resolved.at)) >= RENEW_MS;
}

/** Decides what to say: one event for one standing cause, counted up now and then. */
export function decideUnresolvedUpdate(
  { reason, message, replicas }: UnresolvedExplanation & Pick<Unresolved, 'replicas'>,
  standing: Unresolved | undefined,
  now: number,
): UnresolvedUpdate {
  if (standing?.reason !== reason || standing.message !== message) return 'new';
  if (standing.replicas !== replicas) return 'again';
  return Math.abs(now - Date.parse(standing.lastSeenAt)) >= COUNT_AT_MOST_EVERY_MS ? 'again' : 'nothing';
}

/**
 * When to look again, as nobody tells when a store heals: soon at first, then every few seconds for as long as it takes.
 */
export function computeRetryMs(since: string, now: number): number {
  const stands = Math.max(0, now - Date.parse(since));
  return Math.min(LOOK_AGAIN.lastMs, LOOK_AGAIN.firstMs + stands / 2);
}
