import { type CanaryAction, checkCanaryRequest, type StoredDeployment } from '../../../crds/deployment/index.js';
import { keys } from '../../../crds/keys/index.js';
import {
  type CanaryOrder,
  computeContentHash,
  findHeldCanary,
  type RolloutRecord,
} from '../../../crds/rollout/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { checkIfMatch } from '../../write/if-match.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, describeCaller, type RouteResult } from '../../http/route.js';
import { loadDeployment } from './view.js';

/** Orders that the canary of a deployment is promoted or aborted. The replica keeper carries it out. */
export function submitCanaryOrder(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return retryOnConflict(call.params['name']!, () => orderOnce(env, call));
}

/** Undefined when a concurrent write was stored first. */
async function orderOnce(env: AdmissionEnv, call: ApiCall): Promise<RouteResult | undefined> {
  const { cache, clock } = env;
  const entry = await loadDeployment(cache, call.tenant, call.params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const checked = checkCanaryRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, entry);
  if (mismatch) return mismatch;
  const deployment = value<StoredDeployment>(entry);
  if (deployment.metadata.deletedAt !== undefined) {
    return rejectRequest('deployment_being_deleted', 'name', deployment.name);
  }
  const recorded = cache.get(keys.rollout(call.tenant, deployment.name));
  const record = recorded && value<RolloutRecord>(recorded);
  if (!recorded || !findHeldCanary(deployment, record)) {
    const because = explainNoCanary(deployment, record);
    return rejectRequest('canary_not_under_way', 'name', deployment.name, { because });
  }
  const order: CanaryOrder = {
    uid: deployment.metadata.uid,
    contentHash: computeContentHash(deployment),
    action: checked.value.action,
    by: describeCaller(call.caller),
    at: new Date(clock.now()).toISOString(),
  };
  const answer = { deployment: deployment.name, uid: order.uid, revision: deployment.metadata.generation };
  if (call.isDryRun) return replyDryRun({ after: { ...answer, action: order.action } });
  if (!(await storeOrder(env, call, { entry, recorded, order }))) return undefined;
  const warnings = warnPaused(deployment, checked.value.action);
  return replyJson(200, { ...answer, action: order.action, orderedAt: order.at, alterations: [], warnings });
}

/** Stores the order while the deployment and its canary are as they were seen. */
async function storeOrder(
  { cache, store }: AdmissionEnv,
  { tenant }: ApiCall,
  { entry, recorded, order }: { readonly entry: Entry; readonly recorded: Entry; readonly order: CanaryOrder },
): Promise<boolean> {
  const key = keys.canaryOrder(tenant, value<StoredDeployment>(entry).name);
  const write = store.commit({
    guards: [
      { key, at: cache.get(key)?.revision ?? 0 },
      { key: entry.key, at: entry.revision },
      { key: recorded.key, at: recorded.revision },
    ],
    puts: [{ key, bytes: encode(order) }],
    deletes: [],
  });
  return waitUntilStored(cache, write);
}

function explainNoCanary({ rollout, metadata }: StoredDeployment, record: RolloutRecord | undefined): string {
  if (!rollout?.canary) return 'it does not ask for one; set rollout.canary';
  const { uid, completed, lastCanary } = record ?? {};
  if (uid !== metadata.uid || !completed)
    return 'its first rollout has none, because nothing runs that it could be compared with';
  const last = lastCanary ? `; that of revision ${lastCanary.revision} was ${lastCanary.outcome}` : '';
  return `none is held now${last}`;
}

function warnPaused({ name, rollout }: StoredDeployment, action: CanaryAction): readonly Warning[] {
  if (rollout?.paused !== true) return [];
  const message = `the rollout is paused: no replica is replaced before "moor rollout resume ${name}"`;
  return [{ code: 'rollout_paused', field: 'action', message: `${action}: ${message}` }];
}
