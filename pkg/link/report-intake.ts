import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import type { Report } from '../../crds/report/index.js';
import { REPLICAS_BY_NODE } from '../fleet/index.js';
import { ConflictFault, encode, type Entry, findRecordFault, value } from '../store/index.js';
import { type DispatcherEnv, readReplica, REPLICAS_BY_UID } from './dispatcher-env.js';
import type { NodeIdentity } from './agent-link.js';
import { type ReportBudget, toNodeAllowance } from './report-budget.js';

const ATTEMPTS = 5;

/**
 * Whether a batch was accepted. A refused batch names the replica whose report speaks for another node, or how long the node
 * must wait because its reports have changed too often.
 */
export type ReportIntake =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly replica: string }
  | { readonly accepted: false; readonly waitMs: number; readonly perSecond: number };

/**
 * Stores the reports that changed, each guarded by the existence of its replica.
 *
 * A report in the name of another node, or about another place of a replica, refuses the whole batch, and so does a node
 * that is over its budget of writes: what it sends is repeated until it fits, so only the latest state of a replica is
 * written. A report about a replica of another node is answered like one about a deleted replica, so that an agent cannot
 * find out which replicas exist: nothing of it is stored, and what was stored under this node is deleted. That is also the
 * end of every removal.
 */
export async function storeReports(
  env: DispatcherEnv,
  node: NodeIdentity,
  reports: readonly Report[],
  budget: ReportBudget,
): Promise<ReportIntake> {
  if (!reports.every(report => findOwnReplica(env, node, report))) await env.cache.barrier(); // the cache may be behind
  const misattributed = reports.find(report => isMisattributed(env, node, report));
  if (misattributed) {
    const about = { tenant: node.tenant, node: node.name, replica: misattributed.replica };
    env.log.warn('report batch refused: a report names another node or another slot', about);
    return { accepted: false, replica: misattributed.replica };
  }
  const allowance = toNodeAllowance(env.cache.by(REPLICAS_BY_NODE, node.id).length);
  const writes = reports.filter(report => !isStored(env, node, report)).length;
  const waitMs = budget.take(node.id, writes, allowance);
  if (waitMs > 0) {
    env.log.warn('report batch refused: the node is over its budget of writes', {
      tenant: node.tenant,
      node: node.name,
    });
    return { accepted: false, waitMs, perSecond: allowance.perSecond };
  }
  await Promise.all(reports.map(report => storeReport(env, node, report)));
  return { accepted: true };
}

/** Whether a report speaks for another node, or gives a replica of this node another place. */
function isMisattributed(env: DispatcherEnv, node: NodeIdentity, report: Report): boolean {
  if (report.nodeId !== node.id) return true;
  const entry = findOwnReplica(env, node, report);
  const replica = entry && readReplica(entry);
  return replica !== undefined && (replica.deployment !== report.deployment || replica.slot !== report.slot);
}

/** The replica of a report, when it exists and is placed on the node. */
function findOwnReplica({ cache }: DispatcherEnv, node: NodeIdentity, report: Report): Entry | undefined {
  const [entry] = cache.by(REPLICAS_BY_UID, report.replica);
  const replica = entry && readReplica(entry);
  return replica?.tenant === node.tenant && replica.nodeId === node.id ? entry : undefined;
}

/** Whether the report would cause no write. */
function isStored(env: DispatcherEnv, node: NodeIdentity, report: Report): boolean {
  const held = env.cache.get(keys.report(node.tenant, node.id, report.replica));
  const replica = findOwnReplica(env, node, report);
  return replica ? held !== undefined && isUpToDate(held, toDated(env, replica, held, report)) : !held;
}

async function storeReport(env: DispatcherEnv, node: NodeIdentity, report: Report): Promise<void> {
  const key = keys.report(node.tenant, node.id, report.replica);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const replica = findOwnReplica(env, node, report);
    const held = env.cache.get(key);
    if (isStored(env, node, report)) return;

    const at = { key, at: held?.revision ?? 0 };
    const verdict = await env.store.commit({
      guards: replica ? [at, { key: replica.key, created: replica.created }] : [at],
      puts: replica ? [{ key, bytes: encode(toDated(env, replica, held, report)) }] : [],
      deletes: replica ? [] : [key],
    });
    if (verdict.stored) return;
    await env.cache.barrier();
  }
  throw new ConflictFault(key, ATTEMPTS);
}

/** Whether the stored report equals the new one. `removed` is final: a late report cannot undo it. */
function isUpToDate(held: Entry, report: Report): boolean {
  if (findRecordFault(held) !== undefined) return false;
  const stored = value<Report>(held);
  return stored.state === 'removed' || isDeepStrictEqual({ ...stored, at: '' }, { ...report, at: '' });
}

/**
 * The report with a time since when the container is in its state that decisions may count from: the clock of a node may be a day
 * off. What the agent says is kept where it is possible: not in the future, not before the replica was wanted, and not before the
 * state that was reported last. Else the state began when it was reported, and keeps that time while it lasts.
 */
function toDated({ clock }: DispatcherEnv, replica: Entry, held: Entry | undefined, report: Report): Report {
  if (report.since === undefined) return report;
  const known = held && findRecordFault(held) === undefined ? value<Report>(held) : undefined;
  const isSame = (['state', 'restarts', 'containerId'] as const).every(part => known?.[part] === report[part]);
  if (known?.since !== undefined && isSame) return { ...report, since: known.since };
  const earliest = Date.parse(known?.since ?? readReplica(replica).createdAt);
  const said = Date.parse(report.since);
  const isPossible = said >= earliest && said <= clock.now();
  // A server that is alone with a clock that is behind the others' takes the report for older than what it is about.
  return isPossible ? report : { ...report, since: new Date(Math.max(clock.now(), earliest || 0)).toISOString() };
}
