import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import type { Report } from '../../crds/report/index.js';
import { ConflictFault, encode, type Entry, value } from '../store/index.js';
import { type DispatcherEnv, readReplica, REPLICAS_BY_UID } from './dispatcher-env.js';
import type { NodeIdentity } from './agent-link.js';

const ATTEMPTS = 5;

/** Whether a batch was accepted. A refused batch names the replica that does not belong to the node. */
export type ReportIntake = { readonly accepted: true } | { readonly accepted: false; readonly replica: string };

/**
 * Stores the reports that changed, each guarded by the existence of its replica.
 *
 * One report about a replica of another node refuses the whole batch. A report about a deleted replica is the end of a
 * removal: the stored report is deleted too.
 */
export async function storeReports(
  env: DispatcherEnv,
  node: NodeIdentity,
  reports: readonly Report[],
): Promise<ReportIntake> {
  if (!reports.every(report => classifyReport(env, node, report) === 'own')) await env.cache.barrier(); // the cache may be behind

  const foreign = reports.find(report => classifyReport(env, node, report) === 'foreign');
  if (foreign) {
    const about = { tenant: node.tenant, node: node.name, replica: foreign.replica };
    env.log.warn('report batch refused: a report names a replica of another node', about);
    return { accepted: false, replica: foreign.replica };
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

async function storeReport(env: DispatcherEnv, node: NodeIdentity, report: Report): Promise<void> {
  const key = keys.report(node.tenant, node.id, report.replica);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [replica] = env.cache.by(REPLICAS_BY_UID, report.replica);
    const held = env.cache.get(key);
    if (replica ? held && isUpToDate(held, report) : !held) return;

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
