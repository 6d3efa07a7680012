import { expect } from 'chai';

import type { NodeCondition, NodeStatus, StoredNode } from '../../crds/node/index.js';
import { decideNode } from './decide.js';

const BEFORE = '2030-01-01T00:00:00.000Z';
const NOW = '2030-01-01T00:01:00.000Z';

const node = (controlPlane = false): StoredNode => ({
  metadata: { tenant: 't1', uid: 'node_1', generation: 1, createdAt: BEFORE, updatedAt: BEFORE, specHash: 'h' },
  id: 'node_1',
  name: 'n1',
  labels: {},
  capacity: { cpu: 0, memory: 0, disk: 0 },
  publicKey: '',
  controlPlane,
  agentVersion: '0',
});

const written = (status: NodeCondition, reason: string, id = 'node_1'): NodeStatus => ({
  id,
  status,
  reason,
  since: BEFORE,
});

describe('node monitor decides', () => {
  const cases: readonly {
    name: string;
    controlPlane?: boolean;
    heardAs?: string;
    written?: NodeStatus;
    status?: NodeCondition;
    event?: string;
  }[] = [
    { name: 'a node that was never heard is joining', status: 'joining' },
    { name: 'a joining node stays so', written: written('joining', 'not_heard_yet') },
    {
      name: 'a node that is heard is ready',
      heardAs: 'node_1',
      written: written('joining', 'not_heard_yet'),
      status: 'ready',
      event: 'node.ready',
    },
    { name: 'a ready node that is heard stays so', heardAs: 'node_1', written: written('ready', 'heard') },
    {
      name: 'a ready node that is not heard has failed',
      written: written('ready', 'heard'),
      status: 'failed',
      event: 'node.failed',
    },
    { name: 'a failed node stays so', written: written('failed', 'silent') },
    {
      name: 'a failed node that is heard again is ready',
      heardAs: 'node_1',
      written: written('failed', 'silent'),
      status: 'ready',
      event: 'node.ready',
    },
    { name: 'a draining node that is heard stays so', heardAs: 'node_1', written: written('draining', 'asked') },
    {
      name: 'a draining node that is not heard has failed',
      written: written('draining', 'asked'),
      status: 'failed',
      event: 'node.failed',
    },
    {
      name: 'the presence of an earlier node of the name does not count',
      heardAs: 'node_0',
      written: written('ready', 'heard'),
      status: 'failed',
      event: 'node.failed',
    },
    {
      name: 'what was written of an earlier node of the name does not count',
      written: written('ready', 'heard', 'node_0'),
      status: 'joining',
    },
    { name: 'the control plane’s node is ready unheard', controlPlane: true, status: 'ready', event: 'node.ready' },
    { name: 'the control plane’s node never fails', controlPlane: true, written: written('ready', 'platform_record') },
  ];

  for (const given of cases) {
    it(given.name, () => {
      const presence = given.heardAs === undefined ? undefined : { id: given.heardAs, lease: '1', since: BEFORE };
      const decision = decideNode(node(given.controlPlane), presence, given.written, NOW);

      expect(decision?.status.status).to.equal(given.status);
      expect(decision?.event?.type).to.equal(given.event);
      if (decision) expect(decision.status.since).to.equal(NOW);
    });
  }

  it('keeps the time of the change when only the reason is another', () => {
    const decision = decideNode(node(true), undefined, written('ready', 'heard'), NOW);
    expect(decision?.status).to.include({ reason: 'platform_record', since: BEFORE });
    expect(decision?.event).to.equal(undefined);
  });
});
