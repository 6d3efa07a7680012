import { createTypedId, isDnsLabel } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { admitNetwork, type Network, type StoredNetwork } from '../../../crds/network/index.js';
import type { Admitted } from '../../../crds/rule/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { toNetworkSubject } from '../../admission/conflict-keys.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { guardNode, type KnownNodes, listKnownNodes } from '../../admission/facts.js';
import { findCountReached, guardQuotas, listCountConflictKeys } from '../../admission/quota.js';
import { listNetworkUsers } from '../../admission/relations.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { spliceStatus } from '../../http/resource.js';
import { type ApiCall, defineRoute, describeCaller, type Route } from '../../http/route.js';
import { newMetadata } from '../../write/metadata.js';
import { write, type Writing } from '../../write/write.js';

const COLLECTION = '/api/v1/networks';

/** Writes of networks. The agent of a network's node creates it on the engine, and removes it. */
export function createNetworkRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => write(env, call, creation)),
    defineRoute('deployer', 'DELETE', `${COLLECTION}/{name}`, call => write(env, call, removal)),
  ];
}

const creation: Writing<AdmissionEnv, KnownNodes, Admitted<Network>> = {
  name: 'network',
  points: ['network.storing', 'network.stored'],
  freshness: () => 'nodes',
  conflictKeys: (env, { tenant }) => listCountConflictKeys(env, tenant, 'networks'),
  facts: ({ cache }, { tenant }, { isFresh }) => (isFresh ? listKnownNodes(cache, tenant) : 'unreadable'),
  judge: ({ call: { tenant, document }, facts: nodes }, env) => {
    const admission = admitNetwork(document, { nodes });
    if (!admission.ok) return new RequestRejection(admission.rejections);
    const { name } = admission.spec;
    if (env.cache.get(keys.network(tenant, name))) return rejectRequest('resource_already_exists', 'name', name);
    const limit = findCountReached(env, tenant, 'networks');
    return limit === undefined
      ? admission
      : rejectRequest('quota_reached', 'name', tenant, { kind: 'networks', limit });
  },
  plan: (given, { spec, alterations }, { cache }) => {
    const { tenant } = given.call;
    const uid = createTypedId('net', count => given.random.bytes(count));
    const network: StoredNetwork = { metadata: newMetadata(given, uid, spec), ...spec };
    return {
      record: { key: keys.network(tenant, spec.name), bytes: encode(network) },
      guards: [...guardNode(cache, tenant, spec.nodeId), guardQuotas(cache, tenant)],
      events: [draftEvent('network.created', given.call, network)],
      after: spec,
      alterations,
      location: `${COLLECTION}/${spec.name}`,
    };
  },
  show: (_env, network) => spliceStatus(network, undefined),
};

/** Refused while something joins it. What an agent still holds of it is removed there. */
const removal: Writing<AdmissionEnv, undefined, StoredNetwork> = {
  name: 'network',
  points: ['network.removing', 'network.removed'],
  find: ({ cache }, { tenant, params }) => {
    const name = params['name']!;
    const entry = isDnsLabel(name) ? cache.get(keys.network(tenant, name)) : undefined;
    return entry ?? rejectRequest('resource_not_found', 'name', name);
  },
  conflictKeys: (_env, { tenant, params }) => [keys.conflict(tenant, toNetworkSubject(params['name']!))],
  judge: ({ call: { tenant }, stored }, { cache }) => {
    const network = value<StoredNetwork>(stored!);
    const users = listNetworkUsers(cache, tenant, network.name);
    return users.length > 0 ? rejectRequest('network_in_use', 'name', network.name, { users }) : network;
  },
  plan: ({ call, stored }, network) => {
    const { metadata: _, ...before } = network;
    return {
      deletes: [stored!.key, keys.networkReport(call.tenant, network.name)],
      events: [draftEvent('network.deleted', call, network)],
      before,
    };
  },
  show: (_env, network) => spliceStatus(network, undefined),
};

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
