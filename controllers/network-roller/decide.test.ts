import { expect } from 'chai';

import type { NetworkReport, NetworkStatus, StoredNetwork } from '../../crds/network/index.js';
import type { NodeStatus } from '../../crds/node/index.js';
import { findEvent, type NetworkInput, rollNetwork } from './decide.js';

const NOW = '2030-01-01T00:00:00.000Z';
const BEFORE = '2029-12-31T00:00:00.000Z';

const network: StoredNetwork = {
  metadata: { tenant: 't', uid: 'net_1', generation: 1, createdAt: BEFORE, updatedAt: BEFORE, specHash: '' },
  name: 'backend',
  driver: 'bridge',
  labels: {},
  internal: false,
  nodeId: 'node_1',
};
const status = (change: Partial<NodeStatus> = {}): NodeStatus => ({
  id: 'node_1',
  status: 'ready',
  reason: 'heartbeat_received',
  since: BEFORE,
  ...change,
});
const report = (change: Partial<NetworkReport> = {}): NetworkReport => ({
  uid: 'net_1',
  state: 'ready',
  at: BEFORE,
  ...change,
});
const roll = (input: Partial<NetworkInput>) =>
  rollNetwork({
    network,
    node: { name: 'machine-1', status: status() },
    report: report(),
    previous: undefined,
    now: NOW,
    ...input,
  });

describe('the status of a network', () => {
  const cases: readonly (readonly [name: string, input: Partial<NetworkInput>, state: string, message: RegExp])[] = [
    ['exists', {}, 'ready network_ready', /^it exists on machine-1$/],
    ['waits for the agent', { report: undefined }, 'pending network_pending', /machine-1 has not created it yet/],
    [
      'of an earlier network of the name',
      { report: report({ uid: 'net_0' }) },
      'pending network_pending',
      /not created/,
    ],
    [
      'has the words of the engine',
      { report: report({ state: 'failed', message: 'no address pool is left' }) },
      'failed network_refused',
      /^no address pool is left$/,
    ],
    [
      'of a node that is gone',
      { node: undefined },
      'failed network_node_gone',
      /no longer enrolled: remove the network from what joins it, .* delete the network, create it on another node/,
    ],
    [
      'of a node that is silent',
      { node: { name: 'machine-1', status: status({ status: 'failed', since: BEFORE }) } },
      'unknown network_node_silent',
      /no heartbeat from its node machine-1/,
    ],
    [
      'of an engine that is silent',
      { node: { name: 'machine-1', status: status({ unobservedSince: BEFORE }) } },
      'unknown network_node_silent',
      /the engine of its node machine-1/,
    ],
    [
      'of a node that was not judged yet',
      { node: { name: 'machine-1', status: undefined } },
      'ready network_ready',
      /./,
    ],
    [
      'of a node that is drained',
      { node: { name: 'machine-1', status: status({ status: 'draining' }) } },
      'ready network_ready',
      /./,
    ],
  ];
  for (const [name, input, state, message] of cases) {
    it(name, () => {
      const found = roll(input);
      expect(`${found.state} ${found.reason}`).to.equal(state);
      expect(found.message).to.match(message);
      expect(found.node).to.equal(input.node === undefined && 'node' in input ? undefined : 'machine-1');
    });
  }

  it('is the same object while nothing changes, and keeps the time of its state', () => {
    const first = roll({});
    expect(roll({ previous: first, now: 'later' })).to.equal(first);
    const refused = (message: string, previous?: NetworkStatus) =>
      roll({ report: report({ state: 'failed', message }), previous, now: previous ? 'later' : NOW });
    expect(refused('b', refused('a'))).to.include({ since: NOW, message: 'b' });
    expect(roll({ previous: refused('a'), now: 'later' })).to.include({ since: 'later', state: 'ready' });
    expect(roll({ previous: { ...first, uid: 'net_0', since: BEFORE } })).to.include({ uid: 'net_1', since: NOW });
  });
});

describe('the event of a network', () => {
  const states: readonly [
    before: NetworkStatus['state'] | undefined,
    announced: NetworkStatus['announced'],
    after: NetworkStatus['state'],
    type: string | undefined,
  ][] = [
    [undefined, undefined, 'pending', undefined],
    [undefined, undefined, 'ready', 'network.ready'],
    ['pending', undefined, 'ready', 'network.ready'],
    ['ready', 'ready', 'ready', undefined],
    ['ready', 'ready', 'failed', 'network.failed'],
    ['failed', 'failed', 'failed', undefined],
    ['failed', 'failed', 'ready', 'network.ready'],
    ['ready', 'ready', 'unknown', undefined],
    ['unknown', 'ready', 'ready', undefined],
    ['unknown', undefined, 'ready', 'network.ready'],
    ['unknown', 'failed', 'ready', 'network.ready'],
    ['unknown', 'failed', 'failed', undefined],
    ['unknown', 'ready', 'failed', 'network.failed'],
  ];
  for (const [before, announced, after, type] of states) {
    it(`${before ?? 'new'}, last told ${announced ?? 'nothing'} → ${after}: ${type ?? 'none'}`, () => {
      const status = before && { state: before, ...(announced && { announced }) };
      expect(findEvent(status, { state: after })).to.equal(type);
    });
  }

  it('is remembered while its node is silent', () => {
    const node = { name: 'machine-1', status: status({ status: 'failed' }) };
    const unobserved = roll({ previous: roll({}), node, now: 'later' });
    expect(unobserved).to.include({ state: 'unknown', announced: 'ready' });
  });
});
