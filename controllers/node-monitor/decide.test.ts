import { expect } from 'chai';

import { type NodeCondition, type NodeOrders, type NodeStatus, type StoredNode } from '../../crds/node/index.js';
import { decideNode, type NodeDecision } from './decide.js';

const BEFORE = '2030-01-01T00:00:00.000Z';
const NOW = '2030-01-01T00:01:00.000Z';
const ORDER = { by: 'tok_1', since: BEFORE };

const node = (controlPlane = false, orders?: NodeOrders): StoredNode => ({
  metadata: { tenant: 't1', uid: 'node_1', generation: 1, createdAt: BEFORE, updatedAt: BEFORE, specHash: 'h' },
  id: 'node_1',
  name: 'n1',
  labels: {},
  capacity: { cpu: 0, memory: 0, disk: 0 },
  publicKey: '',
  controlPlane,
  agentVersion: '0',
  ...(orders && { orders }),
});

const written = (status: NodeCondition, reason: NodeStatus['reason'], more: Partial<NodeStatus> = {}): NodeStatus => ({
  id: 'node_1',
  status,
  reason,
  since: BEFORE,
  ...more,
});

interface Given {
  readonly controlPlane?: boolean;
  readonly orders?: NodeOrders;
  readonly presentAs?: string;
  readonly written?: NodeStatus;
  readonly inGrace?: boolean;
  readonly residents?: number;
  readonly hasPlatformRecord?: boolean;
  readonly unobserved?: boolean;
}

const decide = ({ controlPlane, orders, presentAs, written: before, ...given }: Given) => {
  const { inGrace = false, residents = 0, hasPlatformRecord = false, unobserved } = given;
  const mark = unobserved && { unobservedSince: BEFORE };
  return decideNode(
    {
      node: node(controlPlane, orders),
      presence: presentAs === undefined ? undefined : { id: presentAs, lease: '1', since: BEFORE, run: 'f', ...mark },
      written: before,
      inGrace,
      residents,
      hasPlatformRecord,
    },
    NOW,
  );
};

describe('decideNode', () => {
  const cases: readonly (Given & {
    name: string;
    status?: NodeCondition;
    reason?: string;
    lost?: NodeStatus['lost'];
    event?: string;
    grace?: NodeDecision['grace'];
    unobservedSince?: string;
  })[] = [
    { name: 'a node that never sent a heartbeat is joining', status: 'joining' },
    { name: 'a joining node stays so', written: written('joining', 'no_heartbeat_yet') },
    {
      name: 'a node that sends heartbeats is ready',
      presentAs: 'node_1',
      written: written('joining', 'no_heartbeat_yet'),
      status: 'ready',
      event: 'node.ready',
    },
    {
      name: 'a ready node that sends heartbeats stays so',
      presentAs: 'node_1',
      written: written('ready', 'heartbeat_received'),
    },
    {
      name: 'a ready node without heartbeats has failed, and has time to come back',
      written: written('ready', 'heartbeat_received'),
      status: 'failed',
      event: 'node.failed',
      grace: 'begins',
    },
    {
      name: 'time to come back that is left of an earlier failure begins anew',
      written: written('ready', 'heartbeat_received'),
      inGrace: true,
      status: 'failed',
      event: 'node.failed',
      grace: 'begins',
    },
    { name: 'a failed node stays so in its grace', written: written('failed', 'heartbeat_missed'), inGrace: true },
    {
      name: 'a failed node that did not come back in time is lost',
      written: written('failed', 'heartbeat_missed'),
      status: 'failed',
      lost: 'heartbeat_missed',
      event: 'node.lost',
    },
    { name: 'a lost node stays so', written: written('failed', 'heartbeat_missed', { lost: 'heartbeat_missed' }) },
    {
      name: 'a failed node that sends heartbeats again is ready, and its grace is over',
      presentAs: 'node_1',
      written: written('failed', 'heartbeat_missed'),
      inGrace: true,
      status: 'ready',
      event: 'node.ready',
      grace: 'ends',
    },
    {
      name: 'a lost node that sends heartbeats again is ready',
      presentAs: 'node_1',
      written: written('failed', 'heartbeat_missed', { lost: 'heartbeat_missed' }),
      status: 'ready',
      event: 'node.ready',
    },
    {
      name: 'a machine that is off is lost at once',
      orders: { fence: ORDER },
      written: written('ready', 'heartbeat_received'),
      status: 'failed',
      reason: 'fenced',
      lost: 'fence',
      event: 'node.lost',
    },
    {
      name: 'a failed machine that is off need not be waited for',
      orders: { fence: ORDER },
      written: written('failed', 'heartbeat_missed'),
      inGrace: true,
      status: 'failed',
      lost: 'fence',
      event: 'node.lost',
      grace: 'ends',
    },
    {
      name: 'a lost machine that is off is lost for certain, with no second event',
      orders: { fence: ORDER },
      written: written('failed', 'heartbeat_missed', { lost: 'heartbeat_missed' }),
      status: 'failed',
      lost: 'fence',
    },
    {
      name: 'a machine that sends heartbeats is not off',
      orders: { fence: ORDER },
      presentAs: 'node_1',
      written: written('failed', 'fenced', { lost: 'fence' }),
      status: 'ready',
      event: 'node.ready',
    },
    {
      name: 'a node that is to be emptied is draining',
      orders: { drain: ORDER },
      presentAs: 'node_1',
      residents: 2,
      written: written('ready', 'heartbeat_received'),
      status: 'draining',
      reason: 'draining',
    },
    {
      name: 'a draining node stays so',
      orders: { drain: ORDER },
      presentAs: 'node_1',
      residents: 1,
      written: written('draining', 'draining'),
    },
    {
      name: 'an empty draining node is drained',
      orders: { drain: ORDER },
      presentAs: 'node_1',
      written: written('draining', 'draining'),
      status: 'draining',
      reason: 'drained',
      event: 'node.drained',
    },
    {
      name: 'a drained node stays so',
      orders: { drain: ORDER },
      presentAs: 'node_1',
      written: written('draining', 'drained'),
    },
    {
      name: 'a node that need not be emptied any more is ready',
      presentAs: 'node_1',
      residents: 1,
      written: written('draining', 'draining'),
      status: 'ready',
      event: 'node.ready',
    },
    {
      name: 'a draining node without heartbeats has failed',
      orders: { drain: ORDER },
      written: written('draining', 'draining'),
      status: 'failed',
      event: 'node.failed',
      grace: 'begins',
    },
    {
      name: 'the presence of an earlier node of the name does not count',
      presentAs: 'node_0',
      written: written('ready', 'heartbeat_received'),
      status: 'failed',
      event: 'node.failed',
      grace: 'begins',
    },
    {
      name: 'what was written of an earlier node of the name does not count',
      written: written('ready', 'heartbeat_received', { id: 'node_0' }),
      status: 'joining',
    },
    {
      name: '[3.25] the control plane’s node is ready without heartbeats',
      controlPlane: true,
      status: 'ready',
      reason: 'platform_record_stale',
      event: 'node.ready',
    },
    {
      name: '[3.26] the liveness of the control plane’s node is read from the platform’s own record while that is fresh',
      controlPlane: true,
      hasPlatformRecord: true,
      written: written('ready', 'platform_record_stale', { unobservedSince: BEFORE, isSilent: true }),
      status: 'ready',
      reason: 'platform_record',
    },
    {
      name: 'the platform’s own record counts before heartbeats',
      controlPlane: true,
      hasPlatformRecord: true,
      presentAs: 'node_1',
      written: written('ready', 'platform_record'),
    },
    {
      name: 'heartbeats count when the platform’s own record is not fresh',
      controlPlane: true,
      presentAs: 'node_1',
      written: written('ready', 'platform_record'),
      status: 'ready',
      reason: 'heartbeat_received',
    },
    {
      name: 'the platform’s own record says nothing of another node',
      hasPlatformRecord: true,
      written: written('ready', 'heartbeat_received'),
      status: 'failed',
      event: 'node.failed',
      grace: 'begins',
    },
    {
      name: '[3.27] the control plane’s node never fails',
      controlPlane: true,
      written: written('ready', 'platform_record'),
      status: 'ready',
      reason: 'platform_record_stale',
      unobservedSince: NOW,
    },
    {
      name: 'the control plane’s node stays as it is while it sends no heartbeats',
      controlPlane: true,
      written: written('ready', 'platform_record_stale', { unobservedSince: BEFORE, isSilent: true }),
    },
    {
      name: 'the engine of the control plane’s node does not answer: it stays ready, and nothing is known of its containers',
      controlPlane: true,
      hasPlatformRecord: true,
      presentAs: 'node_1',
      unobserved: true,
      written: written('ready', 'platform_record'),
      status: 'ready',
      reason: 'platform_record',
      event: 'node.engine_unreachable',
      unobservedSince: BEFORE,
    },
    {
      name: 'the control plane’s node can be emptied',
      controlPlane: true,
      orders: { drain: ORDER },
      residents: 1,
      written: written('ready', 'heartbeat_received'),
      status: 'draining',
    },
  ];

  for (const given of cases) {
    it(given.name, () => {
      const decision = decide(given);

      expect(decision?.status.status).to.equal(given.status);
      expect(decision?.status.lost).to.equal(given.lost);
      expect(decision?.event?.type).to.equal(given.event);
      expect(decision?.grace).to.equal(given.grace);
      if (given.reason) expect(decision?.status.reason).to.equal(given.reason);
      if (given.unobservedSince) expect(decision?.status.unobservedSince).to.equal(given.unobservedSince);
      const changed = decision && decision.status.status !== given.written?.status;
      if (decision && given.written?.id === 'node_1') expect(decision.status.since).to.equal(changed ? NOW : BEFORE);
    });
  }
});
