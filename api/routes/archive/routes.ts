import { archiveKind, type ArchivedRevision, checkRollbackRequest } from '../../../crds/archive/index.js';
import { toReplacement } from '../../../crds/deployment/index.js';
import { isDnsLabel, isTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import {
  findHistory,
  findRevision,
  listRevisions,
  type NameHistory,
  REVISIONS_KEPT,
} from '../../../pkg/history/index.js';
import { diffJson } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { type QueryParams, readInteger, rejectParameter } from '../../http/query.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { write } from '../../write/write.js';
import { defineSubmission } from '../deployment/write.js';
import { findDeployment } from '../deployment/view.js';

const ONE = `${archiveKind.path}/{name}`;
const REVISION_MAX = 999_999_999;

/** Archives: what a deployment was asked to be, and the way back. */
export function createArchiveRoutes(env: AdmissionEnv): readonly Route[] {
  const query = ['from', 'to', 'limit'];
  return [
    defineRoute('viewer', 'GET', ONE, call => showHistory(env, call), { query }),
    defineRoute('deployer', 'POST', `${ONE}/rollback`, call => rollBack(env, call), { grows: false }),
  ];
}

/** The history of a deployment, by its name, or by its id alone. */
interface FoundHistory extends NameHistory {
  readonly name: string | undefined;
}

/** Reads the history that a path names. Another tenant's is refused in the same way as one that never was. */
async function loadHistory(
  { cache }: AdmissionEnv,
  { tenant, params }: ApiCall,
): Promise<FoundHistory | RequestRejection> {
  await cache.barrier();
  const given = params['name']!;
  if (isTypedId('dep', given)) {
    // One that was deleted is not in the cache; whether it ever was, its archive says.
    const found = findDeployment(cache, tenant, given);
    const name = found instanceof RequestRejection ? undefined : found.key.slice(found.key.lastIndexOf('/') + 1);
    const current = name === undefined ? undefined : findHistory(cache, tenant, name)?.current;
    return { name, current, deployments: [{ uid: given, lastRevision: Number.MAX_SAFE_INTEGER }] };
  }
  const history = isDnsLabel(given) ? findHistory(cache, tenant, given) : undefined;
  return history ? { ...history, name: given } : rejectRequest('deployment_not_found', 'name', given);
}

async function showHistory(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { query, params, tenant } = call;
  const limit = readInteger(query, 'limit', { min: 1, max: REVISIONS_KEPT, fallback: REVISIONS_KEPT });
  if (limit instanceof RequestRejection) return limit;
  const isDifference = query.has('from') || query.has('to');
  if (isDifference && query.has('limit'))
    return rejectParameter('limit', query.get('limit')!, 'no limit of a difference');
  const history = await loadHistory(env, call);
  if (history instanceof RequestRejection) return history;
  const revisions = await listRevisions(env.store, tenant, history, isDifference ? REVISIONS_KEPT : limit);
  const last = revisions.at(-1);
  if (!last)
    return rejectRequest(
      'deployment_not_found',
      history.name === undefined ? 'deployment_id' : 'name',
      params['name']!,
    );
  if (isDifference) return showDifference(query, revisions, last);
  return replyJson(200, { name: last.spec.name, deleted: history.current === undefined, revisions });
}

/** What was changed between two revisions; without `to` until the last, without `from` since the one before. */
function showDifference(
  query: QueryParams,
  revisions: readonly ArchivedRevision[],
  last: ArchivedRevision,
): RouteResult {
  const range = { min: 1, max: REVISION_MAX };
  const to = readInteger(query, 'to', { ...range, fallback: last.revision });
  if (to instanceof RequestRejection) return to;
  const from = readInteger(query, 'from', { ...range, fallback: Math.max(1, to - 1) });
  if (from instanceof RequestRejection) return from;
  const find = (field: 'from' | 'to', wanted: number) =>
    revisions.find(({ revision }) => revision === wanted) ?? rejectRevision(field, wanted, revisions, 'path');
  const before = find('from', from);
  if (before instanceof RequestRejection) return before;
  const after = find('to', to);
  if (after instanceof RequestRejection) return after;
  return replyJson(200, {
    name: last.spec.name,
    from: before,
    to: after,
    diff: diffJson(before.spec, after.spec),
  });
}

function rejectRevision(
  field: string,
  revision: number,
  revisions: readonly ArchivedRevision[],
  place: 'body' | 'path',
): RequestRejection {
  const [first, last] = [revisions[0]?.revision, revisions.at(-1)?.revision];
  const kept = first === last ? `${first}` : `${first} to ${last}`;
  return rejectRequest('revision_not_found', field, revision, { in: place, kept });
}

/**
 * Brings an archived configuration back as a new revision, through the admission of any other write. One that was deleted is
 * created again.
 */
async function rollBack(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkRollbackRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { tenant, params } = call;
  const history = await loadHistory(env, call);
  if (history instanceof RequestRejection) return history;
  const { name } = history;
  if (name === undefined) return rejectRequest('deployment_not_found', 'deployment_id', params['name']!);

  const { revision } = checked.value;
  const archived = await findRevision(env.store, tenant, history, revision);
  if (!archived) {
    return rejectRevision('revision', revision, await listRevisions(env.store, tenant, history), 'body');
  }
  const { spec } = archived;
  const submission = defineSubmission({
    find: ({ cache }) => cache.get(keys.deployment(tenant, name)),
    toDocument: stored => toReplacement(spec, stored),
    origin: {
      change: 'rollback',
      fromRevision: revision,
      name,
      secretsVersion: spec.secretsVersion,
    },
  });
  return write(env, call, submission);
}
