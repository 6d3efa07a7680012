import { expect } from 'chai';

import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../../crds/node/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import type { Report } from '../../../crds/report/index.js';
import { value } from '../../../pkg/store/index.js';
import type { History, StoreChange, Invariant } from '../history.js';

/**
 * - a deployment's record goes only after its deletion was asked for
 * - a replica gets its node once, of its own tenant, and once retiring stays so; a slot is emptied before it is refilled
 * - a replica that has a node goes only when its agent has said that the container is gone, or when its node was lost or
 *   is no more
 */
export const keepsSlots: Invariant = (changes, chronicle) => {
  for (const change of changes) {
    if (change.key.startsWith(ranges.deployments)) noteDeployment(change);
    if (change.key.startsWith(ranges.replicas)) noteReplica(change, changes, chronicle);
  }
};

function noteDeployment({ before, entry }: StoreChange): void {
  if (before && !entry) expect(value<StoredDeployment>(before).metadata.deletedAt, 'deleted unasked').to.be.a('string');
}

function noteReplica({ before, entry }: StoreChange, changes: readonly StoreChange[], chronicle: History): void {
  const was = before && value<Replica>(before);
  const is = entry && value<Replica>(entry);
  if (is?.nodeId) expect(chronicle.node(is.nodeId)?.metadata.tenant, 'placed across tenants').to.equal(is.tenant);
  if (was?.nodeId && !is) noteEmptied(was, changes, chronicle);
  if (!was || !is) return;
  expect(is.uid, 'a slot was refilled before it was emptied').to.equal(was.uid);
  if (was.nodeId) expect(is.nodeId, 'a placed replica was moved').to.equal(was.nodeId);
  if (was.retiringSince) expect(is.retiringSince, 'a retiring replica was revived').to.equal(was.retiringSince);
}

function noteEmptied({ uid, tenant, nodeId = '' }: Replica, changes: readonly StoreChange[], chronicle: History): void {
  const { name } = chronicle.node(nodeId)!;
  const isGone = chronicle.get<StoredNode>(keys.node(tenant, name))?.id !== nodeId;
  const isLost = chronicle.get<NodeStatus>(keys.nodeStatus(tenant, name))?.lost !== undefined;
  if (isGone || isLost) return void chronicle.givenUp.add(uid);
  const key = keys.report(tenant, nodeId, uid);
  const report = changes.find(change => change.key === key)?.before;
  expect(report && value<Report>(report).state, 'emptied unasked').to.equal('removed');
}
