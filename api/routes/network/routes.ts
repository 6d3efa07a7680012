import { createTypedId, isDnsLabel } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { admitNetwork, type Network, type StoredNetwork } from '../../../crds/network/index.js';
import type { Alteration } from '../../../crds/rule/index.js';
import { failpoint } from '../../../pkg/failpoint/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import { guardConflictKeys, putConflictKeys, toNetworkSubject } from '../../admission/conflict-keys.js';
import { replyDryRun } from '../../admission/dry-run.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { guardNode, readNodes } from '../../admission/facts.js';
import { checkCountQuota, listCountConflictKeys } from '../../admission/quota.js';
import { listNetworkUsers } from '../../admission/relations.js';
import { checkIfMatch, retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';

const COLLECTION = '/api/v1/networks';

/** Writes of networks. The agent of a network's node creates it on the engine, and removes it. */
export function createNetworkRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => createNetwork(env, call)),
    defineRoute('deployer', 'DELETE', `${COLLECTION}/{name}`, call => deleteNetwork(env, call)),
  ];
}

async function createNetwork(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { cache, mutex } = env;
  const { tenant } = call;
  return mutex.run(listCountConflictKeys(env, tenant, 'networks'), () =>
    retryOnConflict('network', async () => {
      const nodes = await readNodes(cache, tenant);
      const admission = admitNetwork(call.document, { nodes });
      if (!admission.ok) return new RequestRejection(admission.rejections);
      const { spec, alterations } = admission;
      if (cache.get(keys.network(tenant, spec.name))) {
        return rejectRequest('resource_already_exists', 'name', spec.name);
      }
      const quota = checkCountQuota(env, tenant, 'networks');
      if (quota.reached !== undefined) {
        return rejectRequest('quota_reached', 'name', tenant, { kind: 'networks', limit: quota.reached });
      }
      if (call.isDryRun) return replyDryRun({ after: spec, alterations });

      const stored = toStored(env, call, spec);
      const key = keys.network(tenant, spec.name);
      failpoint('network.storing');
      const write = env.store.commit({
        guards: [
          { key, at: 0 },
          { key: keys.tenant(tenant), exists: true },
          ...guardNode(cache, tenant, spec.nodeId),
          ...quota.guards,
        ],
        puts: [
          { key, bytes: encode(stored) },
          await env.events.put(draftEvent('network.created', call, stored)),
          ...(await putConflictKeys(env.conflictLeases, quota.conflictKeys, call.requestId)),
        ],
        deletes: [],
      });
      if (!(await waitUntilStored(cache, write))) return undefined;
      failpoint('network.stored');
      return answer(201, stored, cache.get(key)?.revision ?? 0, alterations);
    }),
  );
}

/** Refused while something joins it. What an agent still holds of it is removed there. */
async function deleteNetwork(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { tenant } = call;
  const name = call.params['name']!;
  return retryOnConflict(name, async () => {
    await env.cache.barrier();
    const entry = findNetwork(env, tenant, name);
    if (!entry) return rejectRequest('resource_not_found', 'name', name);
    const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, entry.revision);
    if (mismatch) return mismatch;
    const conflictKeys = [keys.conflict(tenant, toNetworkSubject(name))];
    const guards = guardConflictKeys(env.cache, conflictKeys);
    const users = listNetworkUsers(env.cache, tenant, name);
    if (users.length > 0) return rejectRequest('network_in_use', 'name', name, { users });
    const stored = value<StoredNetwork>(entry);
    const { metadata: _metadata, ...spec } = stored;
    if (call.isDryRun) return replyDryRun({ before: spec });

    failpoint('network.removing');
    const write = env.store.commit({
      guards: [{ key: entry.key, at: entry.revision }, ...guards],
      puts: [
        await env.events.put(draftEvent('network.deleted', call, stored)),
        ...(await putConflictKeys(env.conflictLeases, conflictKeys, call.requestId)),
      ],
      deletes: [entry.key, keys.networkReport(tenant, name)],
    });
    if (!(await waitUntilStored(env.cache, write))) return undefined;
    failpoint('network.removed');
    return answer(200, stored, entry.revision, []);
  });
}

function findNetwork({ cache }: AdmissionEnv, tenant: string, name: string): Entry | undefined {
  return isDnsLabel(name) ? cache.get(keys.network(tenant, name)) : undefined;
}

function toStored({ clock, random }: AdmissionEnv, { tenant, toNotes }: ApiCall, spec: Network): StoredNetwork {
  const now = new Date(clock.now()).toISOString();
  const uid = createTypedId('net', count => random.bytes(count));
  return {
    metadata: {
      tenant,
      uid,
      generation: 1,
      createdAt: now,
      updatedAt: now,
      specHash: hashSpec(spec),
      ...toNotes?.(spec),
    },
    ...spec,
  };
}

function answer(
  status: 200 | 201,
  { metadata, ...spec }: StoredNetwork,
  revision: number,
  alterations: readonly Alteration[],
): RouteResult {
  const shown = { metadata: { revision: String(revision), ...metadata }, ...spec, status: null };
  const headers = {
    ...buildEtagHeader(revision),
    ...(status === 201 && { location: `${COLLECTION}/${spec.name}` }),
  };
  return { ...replyJson(status, { ...shown, alterations, warnings: [] }, headers), alterations };
}

function draftEvent(type: 'network.created' | 'network.deleted', { tenant, caller }: ApiCall, network: StoredNetwork) {
  const { name, nodeId, internal, metadata } = network;
  const isCreated = type === 'network.created';
  return {
    type,
    tenant,
    subject: { kind: 'Network', name, id: metadata.uid },
    reason: isCreated ? 'network_created' : 'network_deleted',
    message: `network ${name} was ${isCreated ? 'created' : 'deleted'} by ${describeCaller(caller)}`,
    data: { nodeId, internal, by: caller.id },
  } as const;
}
