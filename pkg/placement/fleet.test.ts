import { expect } from 'chai';

import { GIB, inhabited, node, workload } from './candidates.fixture.js';
import { residencyMatchesNothing, summarise } from './feasibility.js';
import { Fleet } from './fleet.js';
import type { Candidate } from './candidate.js';
import type { Workload } from './workload.js';

const place = (count: number, nodes: readonly Candidate[], what: Workload = workload()) =>
  new Fleet(nodes).place(count, what);
const names = (placed: ReturnType<typeof place>) => placed.nodes.map(({ name }) => name);
const zone = (name: string, value: string, residents = {}) => inhabited(name, residents, { labels: { zone: value } });

describe('placing', () => {
  it('spreads replicas over nodes before anything else', () => {
    const nodes = [node('a', { capacity: { cpu: 64_000, memory: GIB } }), node('b'), node('c')];
    expect(names(place(3, nodes, workload({ requests: { cpu: 100 } }))).toSorted()).to.deep.equal(['a', 'b', 'c']);
  });

  it('counts the siblings that are there already', () => {
    expect(names(place(1, [inhabited('a', { web: 1 }), node('b')]))).to.deep.equal(['b']);
  });

  it('spreads over places first, and inside them over nodes', () => {
    const nodes = [zone('a', 'x'), zone('b', 'x'), zone('c', 'y')];
    expect(names(place(4, nodes, workload({ spreadOver: 'zone' })))).to.deep.equal(['a', 'c', 'b', 'c']);
  });

  it('takes a node without the label for a place of its own', () => {
    const nodes = [zone('a', 'x'), zone('b', 'x'), node('c'), node('d')];
    expect(names(place(3, nodes, workload({ spreadOver: 'zone' })))).to.deep.equal(['a', 'c', 'd']);
  });

  it('prefers the node with more of what is requested left over', () => {
    const nodes = [node('a', { used: { cpu: 0, memory: 3 * GIB } }), node('b', { used: { cpu: 1900, memory: 0 } })];
    expect(names(place(1, nodes, workload({ requests: { memory: GIB } })))).to.deep.equal(['b']);
  });

  it('prefers the emptier node for a workload that requests nothing, then the name', () => {
    expect(names(place(1, [node('a', { replicas: 2 }), node('b')]))).to.deep.equal(['b']);
    expect(names(place(1, [node('b'), node('a')]))).to.deep.equal(['a']);
  });

  it('says of every node why it takes no more', () => {
    const placed = place(3, [node('a'), node('b', { status: 'failed' })], workload({ hostPorts: ['80/tcp'] }));

    expect(names(placed)).to.deep.equal(['a']);
    expect(placed.unplaced).to.equal(2);
    expect(placed.refused.map(({ node: name, reasons }) => [name, reasons.map(r => r.filter)])).to.deep.equal([
      ['a', ['port']],
      ['b', ['ready']],
    ]);
  });

  it('stops at a quota, and says so of every node', () => {
    const placed = place(
      3,
      [node('a'), node('b')],
      workload({ quotas: [{ kind: 'containers', limit: 7, used: 5, asked: 1 }] }),
    );
    expect(placed.unplaced).to.equal(1);
    expect(placed.refused.map(({ reasons }) => reasons[0]?.reported)).to.deep.equal(['7 containers', '7 containers']);
  });

  it('follows what it is told of nodes', () => {
    const fleet = new Fleet([node('a'), node('b')]);
    expect(names(fleet.place(1, workload()))).to.deep.equal(['a']);
    fleet.put(node('a', { status: 'failed' }));
    expect(names(fleet.place(1, workload()))).to.deep.equal(['b']);
    fleet.remove('node_b');
    expect(fleet.place(1, workload()).refused.map(({ node: name }) => name)).to.deep.equal(['a']);
  });

  it('adds up what is on all nodes', () => {
    const fleet = new Fleet([inhabited('a', { web: 2 }, { used: { cpu: 200, memory: 5 } }), inhabited('b', { db: 1 })]);
    fleet.put(inhabited('b', { db: 3 }));
    fleet.remove('node_a');
    expect(fleet.totals).to.deep.equal({ replicas: 3, cpu: 0, memory: 0 });
  });
});

describe('what is said of nodes', () => {
  it('counts them by filter, the most frequent first', () => {
    const nodes = [
      node('a', { used: { cpu: 2000, memory: 0 } }),
      node('b', { used: { cpu: 2000, memory: 0 } }),
      node('c', { status: 'failed' }),
    ];
    const { refused } = place(1, nodes, workload({ requests: { cpu: 1 } }));
    expect(summarise(0, refused)).to.equal('0 of 3 nodes: 2 resources, 1 ready');
  });

  it('needs no reason where there is no node', () => {
    expect(summarise(0, place(1, []).refused)).to.equal('0 of 0 nodes');
  });

  const german = workload({
    residency: { asked: { country: 'DE' }, regions: { enforced: true, declared: [] } },
    requests: { cpu: 4000 },
  });
  const here = { labels: { 'mooring.io/country': 'DE' } };
  const cases: readonly [name: string, nodes: readonly Candidate[], nothing: boolean][] = [
    ['no node at all', [], true],
    ['nodes elsewhere', [node('a'), node('b')], true],
    ['a full node there', [node('a'), node('b', here)], false],
    ['a node there that is not heard', [node('a'), node('b', { ...here, status: 'failed' })], true],
    ['a node there that is being emptied', [node('b', { ...here, status: 'draining' })], false],
  ];
  for (const [name, nodes, nothing] of cases) {
    it(`knows whether residency matches nothing: ${name}`, () => {
      expect(residencyMatchesNothing(place(1, nodes, german).refused)).to.equal(nothing);
    });
  }
});
