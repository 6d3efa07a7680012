import type { StoredEvent } from '../../crds/event/index.js';
import { keys, type ObjectName, splitKey } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { abridgeGroups, type SchedulingReport } from '../../crds/scheduling/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { Candidate } from '../../pkg/placement/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Entry, type Guard, type Put, value } from '../../pkg/store/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { mergeReport, type ReportDecision, type SchedulingVerdict } from './decide.js';

/**
 * Of what nodes have to say an event keeps no more: etcd takes requests of 1.5 MiB, and beside it the request holds the
 * record, the rest of the event, and perhaps another one.
 */
const GROUPS_AT_MOST = 1.25 * 2 ** 20;

/** One replica and the node that was found for it. */
export interface Assignment {
  readonly seen: ObservedReplica;
  readonly node: Candidate;
  /** The node's turn as it stood when this was decided, for a replica that wants host ports. */
  readonly turn?: Extract<Guard, { readonly at: number }>;
}

/**
 * The node's turn as it stands. Every placement that wants host ports takes it, so that of two placements decided on one
 * view only one can be made, even when the other's request arrives late: a port, unlike a request for resources, cannot
 * be shared.
 */
export function readPortTurn(tenant: string, nodeId: string, cache: LoopEnv['cache']): NonNullable<Assignment['turn']> {
  const key = keys.portTurn(tenant, nodeId);
  return { key, at: cache.get(key)?.revision ?? 0 };
}

/** The deployment that a change is about, and the guard that it is still the same. */
export interface SchedulingSubject {
  readonly named: ObjectName;
  readonly uid: string;
  readonly same: Guard;
}

/** The same, and the guard that the tenant may have as much as when it was decided. */
export interface PlacementSubject extends SchedulingSubject {
  readonly quotas: Guard;
}

/** The guard that nobody has set the tenant's quotas meanwhile: a placement must not be made after they were lowered. */
export function guardQuotas(tenant: string, cache: LoopEnv['cache']): Guard {
  const key = keys.tenant(tenant);
  return { key, at: cache.get(key)?.revision ?? 0 };
}

/** The replica with its node. */
export function withNode({ seen, node }: Assignment): Replica {
  return { ...seen.replica, nodeId: node.id };
}

/** Gives each replica its node, with one event for all of them. */
export async function buildPlacements(
  assignments: readonly Assignment[],
  { named, uid, same, quotas }: PlacementSubject,
  env: LoopEnv,
): Promise<Change> {
  const where = assignments.map(({ seen, node }) => ({ replica: seen.replica.slot, node: node.name, nodeId: node.id }));
  const event = await env.events.put({
    type: 'deployment.placed',
    tenant: named.tenant,
    subject: { kind: 'Deployment', name: named.name, id: uid },
    reason: 'placed',
    message: where.map(({ replica, node }) => `replica ${replica} on ${node}`).join(', '),
    data: { placements: where },
  });
  const keyOf = ({ replica }: ObservedReplica) => keys.replica(replica.tenant, replica.deployment, replica.slot);
  const turns = assignments.flatMap(({ turn, seen }) => (turn ? [{ turn, taken: { by: seen.replica.uid } }] : []));
  return {
    guards: [
      ...assignments.map(({ seen }) => ({ key: keyOf(seen), at: seen.revision })),
      ...turns.map(({ turn }) => turn),
      same,
      quotas,
    ],
    puts: [
      ...assignments.map(each => ({ key: keyOf(each.seen), bytes: encode(withNode(each)) })),
      ...turns.map(({ turn, taken }) => ({ key: turn.key, bytes: encode(taken) })),
      event,
    ],
    deletes: [],
  };
}

/** Says that nothing waits any more. */
export function clearReport(standing: Entry): Change {
  return { guards: [{ key: standing.key, at: standing.revision }], puts: [], deletes: [standing.key] };
}

/** What is to be said with an event. */
export type ReportWithEvent = Extract<ReportDecision, { readonly verdict: SchedulingVerdict }>;

/** Records why replicas wait, with the event of the cause. */
export async function buildReport(
  saying: ReportWithEvent,
  standing: Entry | undefined,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<Change> {
  const event = await eventFor(saying, subject, env);
  const record: SchedulingReport = { ...recordOf(saying.verdict, env), event: splitKey(event.key)[1]! };
  const change = recording(record, standing, subject);
  return { ...change, puts: [...change.puts, event, ...(await quotaEvents(saying.verdict, standing, subject, env))] };
}

/** Records why replicas wait, and no more: by the record the deployment is woken when something may help it. */
export function buildReportWithoutEvent(
  verdict: SchedulingVerdict,
  standing: Entry | undefined,
  subject: SchedulingSubject,
  env: LoopEnv,
): Change {
  return recording(recordOf(verdict, env), standing, subject);
}

/** Keeps the record true while its event stands. Undefined when it is. */
export async function updateReport(
  verdict: SchedulingVerdict,
  standing: Entry,
  subject: SchedulingSubject,
  env: LoopEnv,
): Promise<Change | undefined> {
  const record = mergeReport(value<SchedulingReport>(standing), verdict);
  if (!record) return undefined;
  const change = recording(record, standing, subject);
  return { ...change, puts: [...change.puts, ...(await quotaEvents(verdict, standing, subject, env))] };
}

function recordOf({ groups: _inTheEvent, ...verdict }: SchedulingVerdict, { clock }: LoopEnv): SchedulingReport {
  return { ...verdict, lastSeenAt: new Date(clock.now()).toISOString() };
}

function recording(record: SchedulingReport, standing: Entry | undefined, { named, same }: SchedulingSubject): Change {
  const key = keys.scheduling(named.tenant, named.name);
  return { guards: [{ key, at: standing?.revision ?? 0 }, same], puts: [{ key, bytes: encode(record) }], deletes: [] };
}

async function quotaEvents(
  verdict: SchedulingVerdict,
  standing: Entry | undefined,
  subject: SchedulingSubject,
  { events }: LoopEnv,
): Promise<readonly Put[]> {
  const isKnown = standing && value<SchedulingReport>(standing).filters.includes('quota');
  return verdict.filters.includes('quota') && !isKnown ? [await events.put(quotaReached(verdict, subject))] : [];
}

async function eventFor(
  { verdict, ...saying }: ReportWithEvent,
  { named, uid }: SchedulingSubject,
  env: LoopEnv,
): Promise<Put> {
  const { summary, unplaced, groups } = verdict;
  const data = { ...abridgeGroups(groups, GROUPS_AT_MOST), unplaced };
  const seen = saying.kind === 'again' ? env.cache.get(keys.event(named.tenant, saying.event)) : undefined;
  if (seen) return env.events.again({ ...value<StoredEvent>(seen), message: summary, data });

  return env.events.put({
    type: 'deployment.unschedulable',
    tenant: named.tenant,
    subject: { kind: 'Deployment', name: named.name, id: uid },
    severity: 'warning',
    reason: 'unschedulable',
    message: summary,
    data,
  });
}

function quotaReached(verdict: SchedulingVerdict, { named, uid }: SchedulingSubject): EventDraft {
  const limits = verdict.groups.flatMap(({ refusals }) => refusals.filter(({ filter }) => filter === 'quota'));
  return {
    type: 'quota.reached',
    tenant: named.tenant,
    subject: { kind: 'Deployment', name: named.name, id: uid },
    severity: 'warning',
    reason: 'quota_reached',
    message: `${verdict.unplaced} replicas wait: the tenant may have ${limits[0]?.required}`,
    data: { unplaced: verdict.unplaced },
  };
}
