import { archiveKind } from '../archive/index.js';
import { backupKind } from '../backup/index.js';
import { deploymentKind } from '../deployment/index.js';
import { eventKind } from '../event/index.js';
import { jobKind } from '../job/index.js';
import type { Kind } from '../kind/index.js';
import { networkKind } from '../network/index.js';
import { nodeKind } from '../node/index.js';
import { recommendationKind } from '../recommendation/index.js';
import { rotationKind } from '../rotation/index.js';
import { secretKind } from '../secret/index.js';
import { snapshotKind } from '../snapshot/index.js';
import { tenantKind } from '../tenant/index.js';
import { tokenKind } from '../token/index.js';
import { volumeKind } from '../volume/index.js';

/** Every kind: the one list in which a new kind is entered. Quotas are answered in this order. */
export const kinds = [
  deploymentKind,
  volumeKind,
  nodeKind,
  jobKind,
  networkKind,
  secretKind,
  backupKind,
  rotationKind,
  eventKind,
  tenantKind,
  tokenKind,
  archiveKind,
  recommendationKind,
  snapshotKind,
] as const satisfies readonly Kind[];

/** One of the kinds that exist, with its names known to the compiler. */
export type KnownKind = (typeof kinds)[number];

/** The types of events that this release emits. */
export type EventType = KnownKind['events'][number];

/** The same, as a list. */
export const eventTypes: readonly string[] = kinds.flatMap(({ events }): readonly string[] => events);

/** The kinds that events are about. */
export type EventSubjectKind = Extract<KnownKind, { readonly events: readonly [string, ...string[]] }>['kind'];

/** The kind that a person means by a word, in any case: `deployment`, `deployments` or `deploy`. */
export function findKindByName(word: string, known: readonly Kind[] = kinds): Kind | undefined {
  const name = word.toLowerCase();
  return known.find(kind => listKindNames(kind).includes(name));
}

/** Everything that a kind may be called on the command line. */
export function listKindNames({ singular, plural, shortNames }: Kind): readonly string[] {
  return [singular, plural, ...shortNames];
}

/** The kinds in an order in which their objects can be deleted: each before those that it uses. */
export function sortForDeletion(known: readonly Kind[] = kinds): readonly Kind[] {
  const [next] = known.filter(({ singular }) => !known.some(({ uses = [] }) => uses.includes(singular)));
  return next ? [next, ...sortForDeletion(known.filter(kind => kind !== next))] : known;
}
