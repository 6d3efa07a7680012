import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import type { Report } from '../../crds/report/index.js';
import { REPLICAS_BY_NODE } from '../fleet/index.js';
import { ConflictFault, encode, type Entry, value } from '../store/index.js';
import { type DispatcherEnv, readReplica, REPLICAS_BY_UID } from './dispatcher-env.js';
import type { NodeIdentity } from './agent-link.js';
import { type ReportBudget, toNodeAllowance } from './report-budget.js';

const ATTEMPTS = 5;

/**
 * Whether a batch was accepted. A refused batch names the replica that does not belong to the node, or how long the node
 * must wait because its reports have changed too often.
 */
export type ReportIntake =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly replica: string }
  | { readonly accepted: false; readonly waitMs: number; readonly perSecond: number };

/**
 * Stores the reports that changed, each guarded by the existence of its replica.
 *
 * One report about a replica of another node refuses the whole batch, and so does a node that is over its budget of
 * writes: what it sends is repeated until it fits, so only the latest state of a replica is written. A report about a deleted replica is the end of a
 * removal: the stored report is deleted too.
 */
export async function storeReports(
  env: DispatcherEnv,
  node: NodeIdentity,
  reports: readonly Report[],
  budget: ReportBudget,
): Promise<ReportIntake> {
  if (!reports.every(report => classifyReport(env, node, report) === 'own')) await env.cache.barrier(); // the cache may be behind

  const foreign = reports.find(report => classifyReport(env, node, report) === 'foreign');
  if (foreign) {
    const about = { tenant: node.tenant, node: node.name, replica: foreign.replica };
    env.log.warn('report batch refused: a report names a replica of another node', about);
    return { accepted: false, replica: foreign.replica };
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

function classifyReport({ cache }: DispatcherEnv, node: NodeIdentity, report: Report): 'own' | 'foreign' | 'gone' {
  if (report.nodeId !== node.id) return 'foreign';
  const [entry] = cache.by(REPLICAS_BY_UID, report.replica);
  if (!entry) return 'gone';

  const { tenant, nodeId, deployment, slot } = readReplica(entry);
  const own = tenant === node.tenant && nodeId === node.id;
  return own && deployment === report.deployment && slot === report.slot ? 'own' : 'foreign';
}

/** Whether the report would cause no write. */
function isStored({ cache }: DispatcherEnv, node: NodeIdentity, report: Report): boolean {
  const held = cache.get(keys.report(node.tenant, node.id, report.replica));
  const [replica] = cache.by(REPLICAS_BY_UID, report.replica);
  return replica ? held !== undefined && isUpToDate(held, report) : !held;
}

async function storeReport(env: DispatcherEnv, node: NodeIdentity, report: Report): Promise<void> {
  const key = keys.report(node.tenant, node.id, report.replica);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [replica] = env.cache.by(REPLICAS_BY_UID, report.replica);
    const held = env.cache.get(key);
    if (isStored(env, node, report)) return;

    const at = { key, at: held?.revision ?? 0 };
    const verdict = await env.store.commit({
      guards: replica ? [at, { key: replica.key, created: replica.created }] : [at],
      puts: replica ? [{ key, bytes: encode(report) }] : [],
      deletes: replica ? [] : [key],
    });
    if (verdict.stored) return;
    await env.cache.barrier();
  }
  throw new ConflictFault(key, ATTEMPTS);
}

/** Whether the stored report equals the new one. `removed` is final: a late report cannot undo it. */
function isUpToDate(held: Entry, report: Report): boolean {
  const stored = value<Report>(held);
  return stored.state === 'removed' || isDeepStrictEqual({ ...stored, at: '' }, { ...report, at: '' });
}
