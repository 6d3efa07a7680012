import { expect } from 'chai';

import { toFilterRejection } from '../../crds/scheduling/index.js';
import { GIB, makeNode, makeNodeWith, makeWorkload } from './candidates.testing.js';
import { isResidencyUnmet, summariseRejections } from './filters.js';
import { NodeFleet } from './fleet.js';
import type { Candidate, Workload } from './model.js';

const place = (count: number, nodes: readonly Candidate[], what: Workload = makeWorkload()) =>
  new NodeFleet(nodes).place(count, what);
const names = (placed: ReturnType<typeof place>) => placed.nodes.map(({ name }) => name);
const zone = (name: string, value: string, residents = {}) =>
  makeNodeWith(name, residents, { labels: { zone: value } });

describe('NodeFleet.place', () => {
  it('spreads replicas over nodes before anything else', () => {
    const nodes = [makeNode('a', { capacity: { cpu: 64_000, memory: GIB } }), makeNode('b'), makeNode('c')];
    expect(names(place(3, nodes, makeWorkload({ requests: { cpu: 100 } }))).toSorted()).to.deep.equal(['a', 'b', 'c']);
  });

  it('counts the replicas of the deployment that are already on a node', () => {
    expect(names(place(1, [makeNodeWith('a', { web: 1 }), makeNode('b')]))).to.deep.equal(['b']);
  });

  it('spreads over topology domains first, and inside them over nodes', () => {
    const nodes = [zone('a', 'x'), zone('b', 'x'), zone('c', 'y')];
    expect(names(place(4, nodes, makeWorkload({ spreadOver: 'zone' })))).to.deep.equal(['a', 'c', 'b', 'c']);
  });

  it('treats a node without the label as a topology domain of its own', () => {
    const nodes = [zone('a', 'x'), zone('b', 'x'), makeNode('c'), makeNode('d')];
    expect(names(place(3, nodes, makeWorkload({ spreadOver: 'zone' })))).to.deep.equal(['a', 'c', 'd']);
  });

  it('[3.30] prefers the node with the larger free share of what is requested', () => {
    const nodes = [
      makeNode('a', { used: { cpu: 0, memory: 3 * GIB } }),
      makeNode('b', { used: { cpu: 1900, memory: 0 } }),
    ];
    expect(names(place(1, nodes, makeWorkload({ requests: { memory: GIB } })))).to.deep.equal(['b']);
  });

  it('prefers the node with fewer replicas for a workload that requests nothing, then the name', () => {
    expect(names(place(1, [makeNode('a', { replicas: 2 }), makeNode('b')]))).to.deep.equal(['b']);
    expect(names(place(1, [makeNode('b'), makeNode('a')]))).to.deep.equal(['a']);
  });

  it('places nothing beside a volume while its node cannot provide it', () => {
    const fleet = new NodeFleet([makeNode('a'), makeNode('b')]);
    const volume = { id: 'vol_1', name: 'data', nodeId: 'node_b', node: 'b' };
    const mounts = (refusal?: string) => makeWorkload({ volumes: [{ ...volume, ...(refusal && { refusal }) }] });
    expect(names(fleet.place(1, mounts()))).to.deep.equal(['b']);
    expect(names(fleet.place(1, mounts('there is no folder')))).to.deep.equal([]);
    expect(names(fleet.place(1, mounts()))).to.deep.equal(['b']);
  });

  it('gives the reason of every node that takes no more replicas', () => {
    const placed = place(
      3,
      [makeNode('a'), makeNode('b', { status: 'failed' })],
      makeWorkload({ hostPorts: ['80/tcp'] }),
    );

    expect(names(placed)).to.deep.equal(['a']);
    expect(placed.unplaced).to.equal(2);
    expect(placed.refused.map(({ node: name, reasons }) => [name, reasons.map(r => r.filter)])).to.deep.equal([
      ['a', ['port']],
      ['b', ['ready']],
    ]);
  });

  it('stops at a quota and gives it as the reason of every node', () => {
    const placed = place(
      3,
      [makeNode('a'), makeNode('b')],
      makeWorkload({ quotas: [{ kind: 'containers', limit: 7, used: 5, asked: 1 }] }),
    );
    expect(placed.unplaced).to.equal(1);
    expect(placed.refused.map(({ reasons }) => reasons[0]?.reported)).to.deep.equal(['7 containers', '7 containers']);
  });

  it('uses the present state of nodes that were put or removed', () => {
    const fleet = new NodeFleet([makeNode('a'), makeNode('b')]);
    expect(names(fleet.place(1, makeWorkload()))).to.deep.equal(['a']);
    fleet.put(makeNode('a', { status: 'failed' }));
    expect(names(fleet.place(1, makeWorkload()))).to.deep.equal(['b']);
    fleet.remove('node_b');
    expect(fleet.place(1, makeWorkload()).refused.map(({ node: name }) => name)).to.deep.equal(['a']);
  });

  it('sums replicas and requests over all nodes in its totals', () => {
    const fleet = new NodeFleet([
      makeNodeWith('a', { web: 2 }, { used: { cpu: 200, memory: 5 } }),
      makeNodeWith('b', { db: 1 }),
    ]);
    fleet.put(makeNodeWith('b', { db: 3 }));
    fleet.remove('node_a');
    expect(fleet.totals).to.deep.equal({ replicas: 3, cpu: 0, memory: 0 });
  });
});

describe('summary of rejections', () => {
  it('counts nodes by filter, the most frequent first', () => {
    const nodes = [
      makeNode('a', { used: { cpu: 2000, memory: 0 } }),
      makeNode('b', { used: { cpu: 2000, memory: 0 } }),
      makeNode('c', { status: 'failed' }),
    ];
    const { refused } = place(1, nodes, makeWorkload({ requests: { cpu: 1 } }));
    expect(summariseRejections(0, refused)).to.equal('0 of 3 nodes: 2 resources, 1 not ready');
  });

  it('[3.11] counts a node with several reasons once, so that the counts add up', () => {
    const nodes = [
      makeNode('a', { status: 'failed', used: { cpu: 2000, memory: 0 } }),
      makeNode('b', { status: 'failed' }),
    ];
    const { refused } = place(1, nodes, makeWorkload({ requests: { cpu: 1 } }));
    expect(summariseRejections(0, refused)).to.equal('0 of 2 nodes: 1 not ready, 1 not ready and resources');
  });

  it('names the most frequent combinations and counts the rest', () => {
    const filters = ['tenant', 'residency', 'anti_affinity', 'port', 'resources', 'quota', 'quota'] as const;
    const refused = filters.map((filter, position) => ({
      node: `n${position}`,
      reasons: [toFilterRejection(filter, '', '')],
    }));
    expect(summariseRejections(1, refused)).to.equal(
      '1 of 8 nodes: 2 quota, 1 anti_affinity, 1 port, 1 residency, 2 for other reasons',
    );
  });

  it('says that there is no node', () => {
    expect(summariseRejections(0, place(1, []).refused)).to.equal('the tenant has no nodes');
  });

  const german = makeWorkload({
    residency: { asked: { country: 'DE' }, regions: { enforced: true, declared: [] } },
    requests: { cpu: 4000 },
  });
  const here = { labels: { 'mooring.io/country': 'DE' } };
  const cases: readonly [name: string, nodes: readonly Candidate[], unmet: boolean][] = [
    ['no node', [], true],
    ['nodes in other countries only', [makeNode('a'), makeNode('b')], true],
    ['a full node in the country', [makeNode('a'), makeNode('b', here)], false],
    ['a failed node in the country', [makeNode('a'), makeNode('b', { ...here, status: 'failed' })], true],
    ['a draining node in the country', [makeNode('b', { ...here, status: 'draining' })], false],
  ];
  for (const [name, nodes, unmet] of cases) {
    it(`calls residency ${unmet ? 'unmet' : 'met'} with ${name}`, () => {
      expect(isResidencyUnmet(place(1, nodes, german).refused)).to.equal(unmet);
    });
  }
});

describe('NodeFleet.placeEach', () => {
  const each = (fleet: NodeFleet, ...groups: readonly (readonly [count: number, workload: Workload])[]) =>
    fleet.placeEach(groups.map(([count, workload]) => ({ count, workload })));

  it('has each group find the nodes as the earlier ones leave them', () => {
    const fleet = new NodeFleet([makeNode('a'), makeNode('b')]);
    const [first, second] = each(
      fleet,
      [1, makeWorkload({ hostPorts: ['80/tcp'] })],
      [2, makeWorkload({ hostPorts: ['80/tcp', '81/tcp'] })],
    );
    expect([names(first!), names(second!)]).to.deep.equal([['a'], ['b']]);
    expect(second?.unplaced).to.equal(1);
    expect(second?.refused.map(({ node, reasons }) => [node, reasons[0]?.filter])).to.have.deep.members([
      ['a', 'port'],
      ['b', 'port'],
    ]);
  });

  it('counts what the earlier ones take of a quota', () => {
    const quotas = [{ kind: 'containers', limit: 7, used: 5, asked: 1 }];
    const [first, second] = each(
      new NodeFleet([makeNode('a')]),
      [1, makeWorkload({ quotas })],
      [2, makeWorkload({ quotas })],
    );
    expect([first?.unplaced, second?.unplaced]).to.deep.equal([0, 1]);
  });

  it('leaves the fleet as it was', () => {
    const fleet = new NodeFleet([makeNode('a'), makeNode('b')]);
    const before = { totals: fleet.totals, nodes: [...fleet.nodes].toSorted((x, y) => (x.id < y.id ? -1 : 1)) };
    const workload = makeWorkload({ requests: { cpu: 100 }, hostPorts: ['80/tcp'] });
    each(fleet, [2, workload], [2, makeWorkload()]);
    const nodes = [...fleet.nodes].toSorted((x, y) => (x.id < y.id ? -1 : 1));
    expect({ totals: fleet.totals, nodes }).to.deep.equal(before);
    expect(names(fleet.place(2, workload)).toSorted()).to.deep.equal(['a', 'b']);
  });
});
