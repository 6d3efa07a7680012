import type { AnnouncedEvent, DeploymentStatus } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, splitKey } from '../../crds/keys/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Put, value } from '../../pkg/store/index.js';

/** A cause that returns within this time counts its event up: a crash loop is a few events, however long it lasts. */
const SAME_EPISODE_MS = 3_600_000;

/** Causes that a status keeps the event of. */
const KEPT = 8;

/** The status with its events, and the puts of those. */
export interface AnnouncedStatus {
  readonly status: DeploymentStatus;
  readonly puts: readonly Put[];
}

/**
 * The puts of the events of a status. An event of the same type and reason that is recent is counted up instead:
 * only this loop writes it, in the transaction of the status that names it. An expired one is written again.
 */
export async function announceAll(
  drafts: readonly EventDraft[],
  status: DeploymentStatus,
  now: string,
  env: Pick<LoopEnv, 'events' | 'reads'>,
): Promise<AnnouncedStatus> {
  if (drafts.length === 0) return { status, puts: [] };
  let announced = status.events ?? [];
  const puts: Put[] = [];
  for (const draft of drafts) {
    const put = await putOrCount(draft, findRecent(draft, announced, now), env);
    puts.push(put);
    const others = announced.filter(({ type, reason }) => type !== draft.type || reason !== draft.reason);
    announced = [...others, { type: draft.type, reason: draft.reason, id: splitKey(put.key)[1]!, at: now }];
  }
  return { status: { ...status, events: announced.slice(-KEPT) }, puts };
}

/** The event of the same cause, when it was last seen within the hour. */
export function findRecent(
  { type, reason }: Pick<EventDraft, 'type' | 'reason'>,
  announced: readonly AnnouncedEvent[],
  now: string,
): AnnouncedEvent | undefined {
  const found = announced.find(each => each.type === type && each.reason === reason);
  if (!found) return undefined;
  const age = Date.parse(now) - Date.parse(found.at);
  return age >= 0 && age < SAME_EPISODE_MS ? found : undefined;
}

async function putOrCount(
  draft: EventDraft,
  recent: AnnouncedEvent | undefined,
  { events, reads }: Pick<LoopEnv, 'events' | 'reads'>,
): Promise<Put> {
  const entry = recent && (await reads.get(keys.event(draft.tenant, recent.id)));
  if (!entry) return events.put(draft);
  const seen = value<StoredEvent>(entry);
  return events.again({ ...seen, message: draft.message, data: draft.data ?? {} });
}
