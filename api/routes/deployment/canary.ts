import { checkCanaryRequest, type StoredDeployment } from '../../../crds/deployment/index.js';
import { keys } from '../../../crds/keys/index.js';
import {
  type CanaryOrder,
  computeContentHash,
  findHeldCanary,
  type RolloutRecord,
} from '../../../crds/rollout/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { describeCaller } from '../../http/route.js';
import type { Writing } from '../../write/write.js';
import { findDeployment } from './view.js';

interface JudgedOrder {
  readonly order: CanaryOrder;
  readonly deployment: StoredDeployment;
  readonly rollout: Entry;
}

/** Orders that the canary of a deployment is promoted or aborted. The replica keeper carries it out. */
export const canaryOrdering: Writing<AdmissionEnv, undefined, JudgedOrder> = {
  name: 'canary',
  find: ({ cache }, { tenant, params }) => findDeployment(cache, tenant, params['name']!),
  judge: ({ call, stored, now }, { cache }) => {
    const checked = checkCanaryRequest(call.document);
    if (!checked.ok) return new RequestRejection(checked.rejections);
    const deployment = value<StoredDeployment>(stored!);
    const { metadata, name } = deployment;
    if (metadata.deletedAt !== undefined) return rejectRequest('deployment_being_deleted', 'name', name);
    const rollout = cache.get(keys.rollout(call.tenant, name));
    const record = rollout && value<RolloutRecord>(rollout);
    if (!rollout || !findHeldCanary(deployment, record)) {
      return rejectRequest('canary_not_under_way', 'name', name, { because: explainNoCanary(deployment, record) });
    }
    const { action } = checked.value;
    const order = { uid: metadata.uid, contentHash: computeContentHash(deployment), action };
    return { order: { ...order, by: describeCaller(call.caller), at: now }, deployment, rollout };
  },
  plan: ({ call: { tenant }, stored }, { order, deployment, rollout }, { cache }) => {
    const key = keys.canaryOrder(tenant, deployment.name);
    return {
      record: { key, bytes: encode(order) },
      over: cache.get(key),
      shown: stored,
      guards: [{ key: rollout.key, at: rollout.revision }],
      after: toOrderView(deployment, order),
      warnings: warnPaused(deployment, order.action),
    };
  },
  show: (_env, _written, _given, { deployment, order }) => ({
    ...toOrderView(deployment, order),
    orderedAt: order.at,
  }),
};

function toOrderView({ name, metadata }: StoredDeployment, { uid, action }: CanaryOrder) {
  return { deployment: name, uid, revision: metadata.generation, action };
}

function explainNoCanary({ rollout, metadata }: StoredDeployment, record: RolloutRecord | undefined): string {
  if (!rollout?.canary) return 'it does not ask for one; set rollout.canary';
  const { uid, completed, lastCanary } = record ?? {};
  if (uid !== metadata.uid || !completed)
    return 'its first rollout has none, because nothing runs that it could be compared with';
  const last = lastCanary ? `; that of revision ${lastCanary.revision} was ${lastCanary.outcome}` : '';
  return `none is held now${last}`;
}

function warnPaused({ name, rollout }: StoredDeployment, action: CanaryOrder['action']): readonly Warning[] {
  if (rollout?.paused !== true) return [];
  const message = `the rollout is paused: no replica is replaced before "moor rollout resume ${name}"`;
  return [{ code: 'rollout_paused', field: 'action', message: `${action}: ${message}` }];
}
