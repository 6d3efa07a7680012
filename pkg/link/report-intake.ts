import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import type { Report } from '../../crds/report/index.js';
import { ConflictFault, encode, type Entry, value } from '../store/index.js';
import { type DispatcherEnv, readReplica, REPLICAS_BY_UID } from './dispatcher-env.js';
import type { NodeIdentity } from './messages.js';

const ATTEMPTS = 5;

/** Whether a batch was taken. A refused batch names the replica that is not the node's to speak of. */
export type ReportIntake = { readonly accepted: true } | { readonly accepted: false; readonly replica: string };

/**
 * Stores reports of a node's own replicas, only what differs, each under the guard that its replica still exists.
 *
 * One report of a replica that is not this node's refuses all of them. A report of a replica that is gone is the tail
 * of a removal: whatever was stored for it goes too.
 */
export async function storeReports(
  env: DispatcherEnv,
  node: NodeIdentity,
  reports: readonly Report[],
): Promise<ReportIntake> {
  if (!reports.every(report => standing(env, node, report) === 'own')) await env.cache.barrier(); // the cache may lag

  const foreign = reports.find(report => standing(env, node, report) === 'foreign');
  if (foreign) {
    env.log.warn('reports refused', { tenant: node.tenant, node: node.name, replica: foreign.replica });
    return { accepted: false, replica: foreign.replica };
  }
  await Promise.all(reports.map(report => store(env, node, report)));
  return { accepted: true };
}

function standing({ cache }: DispatcherEnv, node: NodeIdentity, report: Report): 'own' | 'foreign' | 'gone' {
  if (report.nodeId !== node.id) return 'foreign';
  const [entry] = cache.by(REPLICAS_BY_UID, report.replica);
  if (!entry) return 'gone';

  const { tenant, nodeId, deployment, slot } = readReplica(entry);
  const own = tenant === node.tenant && nodeId === node.id;
  return own && deployment === report.deployment && slot === report.slot ? 'own' : 'foreign';
}

async function store(env: DispatcherEnv, node: NodeIdentity, report: Report): Promise<void> {
  const key = keys.report(node.tenant, node.id, report.replica);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [replica] = env.cache.by(REPLICAS_BY_UID, report.replica);
    const held = env.cache.get(key);
    if (replica ? held && saysNoMore(held, report) : !held) return;

    const at = { key, at: held?.revision ?? 0 };
    const verdict = await env.store.commit(
      replica
        ? {
            guards: [at, { key: replica.key, created: replica.created }],
            puts: [{ key, bytes: encode(report) }],
            deletes: [],
          }
        : { guards: [at], puts: [], deletes: [key] },
    );
    if (verdict.stored) return;
    await env.cache.barrier();
  }
  throw new ConflictFault(key, ATTEMPTS);
}

/** True when the stored report says all that the new one does. `removed` is final: a late report cannot undo it. */
function saysNoMore(held: Entry, report: Report): boolean {
  const stored = value<Report>(held);
  return stored.state === 'removed' || isDeepStrictEqual({ ...stored, at: '' }, { ...report, at: '' });
}
