import { expect } from 'chai';
import fc from 'fast-check';

import type { Candidate, Workload } from './candidate.js';
import { feasibility, summarise } from './feasibility.js';
import { filters } from './filters/index.js';
import { place } from './place.js';
import { compareCandidates } from './rank.js';

const GIB = 1024 ** 3;

const node = (name: string, change: Partial<Candidate> = {}): Candidate => ({
  id: `node_${name}`,
  name,
  tenant: 't1',
  status: 'ready',
  controlPlane: false,
  capacity: { cpu: 2000, memory: 4 * GIB },
  used: { cpu: 0, memory: 0 },
  heldPorts: new Set(),
  replicas: 0,
  siblings: 0,
  ...change,
});

const workload = (change: Partial<Workload> = {}): Workload => ({
  tenant: 't1',
  platform: false,
  requests: {},
  hostPorts: [],
  ...change,
});

describe('placement filters', () => {
  const cases: readonly {
    name: string;
    node?: Partial<Candidate>;
    workload?: Partial<Workload>;
    refused: readonly string[];
    required?: string;
    reported?: string;
  }[] = [
    { name: 'accept an idle node of the tenant', refused: [] },
    {
      name: 'refuse a node of another tenant without naming it',
      node: { tenant: 't2' },
      refused: ['tenant'],
      reported: 'another tenant',
    },
    {
      name: 'refuse a failed node',
      node: { status: 'failed' },
      refused: ['ready'],
      required: 'ready',
      reported: 'failed',
    },
    { name: 'refuse a node that nobody has judged yet', node: { status: 'unknown' }, refused: ['ready'] },
    { name: 'refuse a node that is being emptied', node: { status: 'draining' }, refused: ['ready'] },
    { name: 'keep the control plane’s node from tenants', node: { controlPlane: true }, refused: ['control_plane'] },
    {
      name: 'leave the control plane’s node to the platform',
      node: { controlPlane: true },
      workload: { platform: true },
      refused: [],
    },
    { name: 'accept the named node', workload: { namedNode: 'node_a' }, refused: [] },
    {
      name: 'refuse every other node',
      workload: { namedNode: 'node_b' },
      refused: ['named_node'],
      required: 'node_b',
      reported: 'node_a',
    },
    {
      name: 'refuse a taken host port',
      node: { heldPorts: new Set(['80/tcp']) },
      workload: { hostPorts: ['80/tcp', '443/tcp'] },
      refused: ['port'],
      reported: '80/tcp taken',
    },
    {
      name: 'accept the same port of another protocol',
      node: { heldPorts: new Set(['53/udp']) },
      workload: { hostPorts: ['53/tcp'] },
      refused: [],
    },
    {
      name: 'accept requests that just fit',
      node: { used: { cpu: 1500, memory: 0 } },
      workload: { requests: { cpu: 500 } },
      refused: [],
    },
    {
      name: 'refuse requests that do not fit',
      node: { used: { cpu: 1501, memory: 0 } },
      workload: { requests: { cpu: 500, memory: GIB } },
      refused: ['resources'],
      required: '500m cpu',
      reported: '499m cpu free',
    },
    {
      name: 'say nothing of resources to a workload that requests none, on a full node',
      node: { used: { cpu: 9000, memory: 9 * GIB } },
      refused: [],
    },
    {
      name: 'keep all reasons',
      node: { status: 'failed', controlPlane: true },
      workload: { requests: { memory: 5 * GIB } },
      refused: ['ready', 'control_plane', 'resources'],
    },
  ];

  for (const given of cases) {
    it(given.name, () => {
      const { refused } = feasibility([node('a', given.node)], workload(given.workload), filters);
      const reasons = refused[0]?.reasons ?? [];

      expect(reasons.map(({ filter }) => filter)).to.deep.equal(given.refused);
      if (given.required) expect(reasons[0]?.required).to.equal(given.required);
      if (given.reported) expect(reasons[0]?.reported).to.equal(given.reported);
    });
  }
});

describe('summary of feasibility', () => {
  it('counts nodes by filter, the most frequent first', () => {
    const nodes = [
      node('a', { used: { cpu: 2000, memory: 0 } }),
      node('b', { used: { cpu: 2000, memory: 0 } }),
      node('c', { status: 'failed' }),
    ];
    expect(summarise(feasibility(nodes, workload({ requests: { cpu: 1 } }), filters))).to.equal(
      '0 of 3 nodes: 2 resources, 1 ready',
    );
  });

  it('needs no reason where there is no node', () => {
    expect(summarise(feasibility([], workload(), filters))).to.equal('0 of 0 nodes');
  });
});

describe('place', () => {
  const names = (placed: ReturnType<typeof place>) => placed.nodes.map(({ name }) => name);

  it('spreads replicas over nodes before anything else', () => {
    const nodes = [node('a', { capacity: { cpu: 64_000, memory: GIB } }), node('b'), node('c')];
    expect(names(place(3, nodes, workload({ requests: { cpu: 100 } }), filters)).toSorted()).to.deep.equal([
      'a',
      'b',
      'c',
    ]);
  });

  it('counts the siblings that are there already', () => {
    expect(names(place(1, [node('a', { siblings: 1, replicas: 1 }), node('b')], workload(), filters))).to.deep.equal([
      'b',
    ]);
  });

  it('prefers the node with more of what is requested left over', () => {
    const nodes = [node('a', { used: { cpu: 0, memory: 3 * GIB } }), node('b', { used: { cpu: 1900, memory: 0 } })];
    expect(names(place(1, nodes, workload({ requests: { memory: GIB } }), filters))).to.deep.equal(['b']);
  });

  it('prefers the emptier node for a workload that requests nothing, then the name', () => {
    expect(names(place(1, [node('a', { replicas: 2 }), node('b')], workload(), filters))).to.deep.equal(['b']);
    expect(names(place(1, [node('b'), node('a')], workload(), filters))).to.deep.equal(['a']);
  });

  it('says of every node why it takes no more', () => {
    const placed = place(3, [node('a'), node('b', { status: 'failed' })], workload({ hostPorts: ['80/tcp'] }), filters);

    expect(names(placed)).to.deep.equal(['a']);
    expect(placed.unplaced).to.equal(2);
    expect(
      placed.afterwards.refused.map(({ node: name, reasons }) => [name, reasons.map(r => r.filter)]),
    ).to.deep.equal([
      ['b', ['ready']],
      ['a', ['port']],
    ]);
  });

  const anyNode = fc
    .record({
      tenant: fc.constantFrom('t1', 't1', 't2'),
      status: fc.constantFrom<Candidate['status'][]>('ready', 'ready', 'failed', 'unknown'),
      controlPlane: fc.boolean(),
      cpu: fc.integer({ min: 0, max: 3000 }),
      replicas: fc.nat(3),
    })
    .map(({ cpu, ...rest }) => ({ ...rest, used: { cpu, memory: 0 } }));

  it('property: never crosses tenants, never overbooks, answers the same for any order of nodes', () => {
    fc.assert(
      fc.property(fc.array(anyNode, { maxLength: 8 }), fc.integer({ min: 1, max: 12 }), (changes, count) => {
        const nodes = changes.map((change, i) => node(`n${i}`, change));
        const asked = workload({ requests: { cpu: 400 } });
        const placed = place(count, nodes, asked, filters);

        expect(names(place(count, nodes.toReversed(), asked, filters))).to.deep.equal(names(placed));
        expect(placed.nodes.length + placed.unplaced).to.equal(count);
        for (const each of nodes) {
          const taken = placed.nodes.filter(({ id }) => id === each.id).length;
          if (taken === 0) continue;
          expect(each.tenant).to.equal('t1');
          expect(each.status).to.equal('ready');
          expect(each.used.cpu + taken * 400).to.be.at.most(2000);
        }
        if (placed.unplaced > 0) expect(placed.afterwards.able).to.deep.equal([]);
        for (const { reasons } of placed.afterwards.refused) expect(reasons).to.not.have.length(0);
      }),
      { numRuns: 300 },
    );
  });

  it('property: the ranking is a total order', () => {
    const compare = compareCandidates(workload({ requests: { cpu: 100 } }));
    fc.assert(
      fc.property(fc.array(anyNode, { minLength: 2, maxLength: 6 }), changes => {
        const nodes = changes.map((change, i) => node(`n${i}`, change)).toSorted(compare);
        for (const [i, a] of nodes.entries()) {
          for (const b of nodes.slice(i + 1)) expect(compare(a, b)).to.be.at.most(0);
        }
      }),
    );
  });
});
