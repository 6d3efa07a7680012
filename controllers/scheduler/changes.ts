import type { StoredEvent } from '../../crds/event/index.js';
import { keys, type ObjectName, splitKey } from '../../crds/keys/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import { abridgeGroups, type SchedulingReport } from '../../crds/scheduling/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import {
  type Change,
  encode,
  type Entry,
  type Guard,
  MAX_DOCUMENT_BYTES,
  type Put,
  splitIntoChanges,
  value,
} from '../../pkg/store/index.js';
import { type ObservedReplica, toOwnerEvent, toOwnerSubject } from '../reading/index.js';
import { type Assignment, mergeReport, type ReportDecision, type SchedulingVerdict } from './decide.js';

/** The deployment that a change is about. */
export interface SchedulingSubject {
  readonly named: ObjectName;
  readonly uid: string;
  /** Holds while the deployment was not replaced by another of its name. */
  readonly same: Guard;
  /** Holds while the tenant's record is as it was read: no placement is committed after a quota was lowered. */
  readonly quotas: Guard;
}

/** Guards that a key stays as the cache shows it. */
export function guardAsRead(key: string, cache: LoopEnv['cache']): NonNullable<Assignment['portGuard']> {
  return { key, at: cache.get(key)?.revision ?? 0 };
}

/** The replica with its node. */
export function withNode({ seen, node }: Assignment): Replica {
  return { ...seen.replica, nodeId: node.id };
}

function toReplicaKey({ replica }: ObservedReplica): string {
  return keys.replica(replica.tenant, replica.deployment, replica.slot);
}

/** Replicas placed by one transaction: well below how many changes the store takes in one. */
const PLACED_AT_ONCE = 20;

/** Splits placements into as few transactions as the store takes: each replica holds its whole template. */
export function splitIntoBatches(
  assignments: readonly Assignment[],
  cache: Pick<LoopEnv['cache'], 'get'>,
): readonly (readonly Assignment[])[] {
  const countBytes = ({ seen }: Assignment) => cache.get(toReplicaKey(seen))?.bytes.length ?? 0;
  return splitIntoChanges(assignments, countBytes, PLACED_AT_ONCE);
}

/** The change that gives each replica its node, with one event for all of them. */
export async function buildPlacements(
  assignments: readonly Assignment[],
  { named, uid, same, quotas }: SchedulingSubject,
  env: LoopEnv,
): Promise<Change> {
  const where = assignments.map(({ seen: { replica }, node }) => ({
    replica: replica.slot,
    generation: replica.generation,
    node: node.name,
    nodeId: node.id,
  }));
  const what = parseJobOwner(named.name) === undefined ? 'replica' : 'attempt';
  const event = await env.events.put({
    type: toOwnerEvent(named.name, 'placed'),
    tenant: named.tenant,
    subject: toOwnerSubject(named.name, uid),
    reason: 'placed',
    message: where.map(({ replica, node }) => `${what} ${replica} on ${node}`).join(', '),
    data: { placements: where },
  });
  const placedAt = new Date(env.clock.now()).toISOString();
  const claims = assignments.flatMap(({ portGuard, seen }) =>
    portGuard ? [{ portGuard, taken: { by: seen.replica.uid } }] : [],
  );
  return {
    guards: [
      ...assignments.map(({ seen }) => ({ key: toReplicaKey(seen), at: seen.revision })),
      ...claims.map(({ portGuard }) => portGuard),
      same,
      quotas,
    ],
    puts: [
      ...assignments.map(each => ({ key: toReplicaKey(each.seen), bytes: encode({ ...withNode(each), placedAt }) })),
      ...claims.map(({ portGuard, taken }) => ({ key: portGuard.key, bytes: encode(taken) })),
      event,
    ],
    deletes: [],
  };
}

/** The change that deletes the report: no replica waits any more. */
export function clearReport(stored: Entry): Change {
  return { guards: [{ key: stored.key, at: stored.revision }], puts: [], deletes: [stored.key] };
}

/** A decision that writes an event. */
export type ReportWithEvent = Extract<ReportDecision, { readonly verdict: SchedulingVerdict }>;

/** The change that stores why replicas wait, with the event of the cause. */
export async function buildReport(
  decision: ReportWithEvent,
  stored: Entry | undefined,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<Change> {
  const event = await buildEvent(decision, subject, env);
  const record: SchedulingReport = { ...toReport(decision.verdict, env), event: splitKey(event.key)[1]! };
  return storeReport(record, stored, subject, [
    event,
    ...(await buildQuotaEvents(decision.verdict, stored, subject, env)),
  ]);
}

/** The change that brings the stored report up to date without its event. Undefined when nothing differs. */
export async function updateReport(
  verdict: SchedulingVerdict,
  stored: Entry,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<Change | undefined> {
  const record = mergeReport(value<SchedulingReport>(stored), verdict);
  return record && storeReport(record, stored, subject, await buildQuotaEvents(verdict, stored, subject, env));
}

/** The report of a verdict, without an event. */
export function toReport(
  { groups: _keptInTheEvent, ...verdict }: SchedulingVerdict,
  { clock }: LoopEnv,
): SchedulingReport {
  return { ...verdict, lastSeenAt: new Date(clock.now()).toISOString() };
}

/** The change that stores a report: the scheduler finds by it which deployments to wake. */
export function storeReport(
  record: SchedulingReport,
  stored: Entry | undefined,
  { named, same }: SchedulingSubject,
  events: readonly Put[] = [],
): Change {
  const key = keys.scheduling(named.tenant, named.name);
  return {
    guards: [{ key, at: stored?.revision ?? 0 }, same],
    puts: [{ key, bytes: encode(record) }, ...events],
    deletes: [],
  };
}

async function buildQuotaEvents(
  verdict: SchedulingVerdict,
  stored: Entry | undefined,
  { named, uid }: SchedulingSubject,
  { events }: LoopEnv,
): Promise<readonly Put[]> {
  const { filters, groups, unplaced } = verdict;
  const isKnown = stored && value<SchedulingReport>(stored).filters.includes('quota');
  if (!filters.includes('quota') || isKnown) return [];
  const [quota] = groups.flatMap(({ refusals }) => refusals.filter(({ filter }) => filter === 'quota'));
  const waiting = unplaced === 1 ? '1 replica waits' : `${unplaced} replicas wait`;
  const event = await events.put({
    type: 'quota.reached',
    tenant: named.tenant,
    subject: toOwnerSubject(named.name, uid),
    severity: 'warning',
    reason: 'quota_reached',
    message: `${waiting}: the tenant may have ${quota?.required}. Raise the quota or remove other deployments.`,
    data: { unplaced },
  });
  return [event];
}

async function buildEvent(
  { verdict, ...decision }: ReportWithEvent,
  { named, uid }: SchedulingSubject,
  env: LoopEnv,
): Promise<Put> {
  const { summary, unplaced, groups } = verdict;
  const data = { ...abridgeGroups(groups, MAX_DOCUMENT_BYTES), unplaced };
  const seen = decision.kind === 'again' ? await env.reads.get(keys.event(named.tenant, decision.event)) : undefined;
  if (seen) return env.events.again({ ...value<StoredEvent>(seen), message: summary, data });

  return env.events.put({
    type: toOwnerEvent(named.name, 'unschedulable'),
    tenant: named.tenant,
    subject: toOwnerSubject(named.name, uid),
    severity: 'warning',
    reason: 'unschedulable',
    message: summary,
    data,
  });
}
