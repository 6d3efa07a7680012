/**
 * Reasons: the one word for programs that a status, a condition, a replica or an event gives, with what it means and what to
 * do about it.
 *
 *     findReason('crash_loop')?.meaning
 *     formatRemedy('crash_loop', 'web')   // '"moor logs web" shows what it printed …'
 *
 * What gives a reason has it as a `Reason`, so the compiler refuses one that is not here; `make verify` finds those that nothing
 * gives. Rejection codes are in `crds/rejections`.
 *
 * @module
 */
import { conditionReasons } from './conditions.js';
import { containerReasons } from './containers.js';
import { eventReasons, type ReasonEntry } from './events.js';
import { jobReasons } from './jobs.js';
import { networkReasons } from './networks.js';
import { describeSetBack, describeSilentEngine, ENGINE_REMEDY, nodeReasons } from './nodes.js';
import { scalingReasons } from './scaling.js';
import { volumeReasons } from './volumes.js';

export { describeSetBack, describeSilentEngine, ENGINE_REMEDY };

const table = {
  ...eventReasons,
  ...conditionReasons,
  ...containerReasons,
  ...jobReasons,
  ...nodeReasons,
  ...networkReasons,
  ...scalingReasons,
  ...volumeReasons,
} as const;

/** A word that says why something is as it is. What other releases have stored may hold others: `toKnownReason`. */
export type Reason = keyof typeof table;

/** Every reason, by its word. */
export const reasons: Readonly<Record<Reason, ReasonEntry>> = table;

/** What a reason means. Undefined for a word that is no reason. */
export function findReason(word: string): ReasonEntry | undefined {
  return Object.hasOwn(reasons, word) ? reasons[word as Reason] : undefined;
}

/** What to do about a reason of a deployment. Undefined when nothing is to be done, or the reason is unknown. */
export function formatRemedy(word: string, deployment: string): string | undefined {
  return findReason(word)?.remedy?.replaceAll('{name}', deployment);
}

/** The reason that an agent gave, where this release knows it; agents may be newer or older than the control plane. */
export function toKnownReason(word: string | undefined): Reason {
  return word !== undefined && findReason(word) ? (word as Reason) : 'container_failed';
}
