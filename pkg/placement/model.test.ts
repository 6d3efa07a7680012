import { expect } from 'chai';
import fc from 'fast-check';

import { defaultRegions } from '../../crds/residency/index.js';
import { makeNode, makeWorkload } from './candidates.testing.js';
import { explainNodes } from './explain.js';
import { checkNodes, listRejections } from './feasibility.js';
import { filters } from './filters.js';
import { NodeFleet, type PlacementResult } from './fleet.js';
import { type Candidate, withReplicas, type Workload } from './model.js';
import { compareCandidates, findBest } from './rank.js';
import { TopologyCounts } from './topology.js';

/** Placement as it is meant, and as slow as it can be: every replica asks every node anew. */
function model(count: number, candidates: readonly Candidate[], what: Workload): PlacementResult {
  const nodes = new Map(candidates.map(each => [each.id, each]));
  const around = new TopologyCounts(what, candidates);
  const placed: Candidate[] = [];
  while (placed.length < count) {
    const { able } = checkNodes(nodes.values(), what, around, filters);
    const winner = findBest(able, compareCandidates(what, around));
    if (!winner) break;
    placed.push(winner);
    nodes.set(winner.id, withReplicas(winner, what));
    around.add(winner);
  }
  const { refused } = checkNodes(nodes.values(), what, around, filters);
  return { nodes: placed, unplaced: count - placed.length, refused };
}

const DEPLOYMENTS = ['web', 'db', 'api'] as const;

const anyNode: fc.Arbitrary<Partial<Candidate>> = fc
  .record({
    tenant: fc.constantFrom('t1', 't1', 't1', 't2'),
    status: fc.constantFrom<Candidate['status'][]>('ready', 'ready', 'ready', 'failed', 'unknown'),
    controlPlane: fc.constantFrom(false, false, true),
    zone: fc.constantFrom(undefined, 'x', 'y'),
    country: fc.constantFrom(undefined, 'DE', 'FR', 'US'),
    cpu: fc.constantFrom(0, 400, 800, 1900),
    port: fc.boolean(),
    residents: fc.dictionary(fc.constantFrom(...DEPLOYMENTS), fc.record({ all: fc.constant(2), staying: fc.nat(2) })),
  })
  .map(({ zone, country, cpu, port, residents, ...rest }) => ({
    ...rest,
    labels: { ...(zone && { zone }), ...(country && { 'mooring.io/country': country }) },
    used: { cpu, memory: 0 },
    heldPorts: new Set(port ? ['80/tcp'] : []),
    replicas: Object.keys(residents).length * 2,
    residents: new Map(Object.entries(residents)),
  }));

const anyWorkload: fc.Arbitrary<Workload> = fc
  .record({
    platform: fc.boolean(),
    named: fc.constantFrom(undefined, undefined, undefined, 'node_n1'),
    asked: fc.constantFrom(undefined, undefined, { country: 'DE' }, { region: 'eu' }, { blockedCountries: ['US'] }),
    constraints: fc.constantFrom([], [], [{ key: 'zone', operator: 'In', values: ['x'] } as const]),
    apart: fc.array(
      fc.record({
        deployment: fc.constantFrom(...DEPLOYMENTS),
        topologyKey: fc.constantFrom('node', 'zone'),
        own: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
    spreadOver: fc.constantFrom('node', 'zone'),
    cpu: fc.constantFrom(undefined, 100, 500),
    port: fc.constantFrom(false, false, true),
    limit: fc.constantFrom(undefined, undefined, 3),
  })
  .map(({ named, asked, cpu, port, limit, ...rest }) =>
    makeWorkload({
      ...rest,
      ...(named !== undefined && { namedNode: named }),
      ...(asked && { residency: { asked, regions: { enforced: true, declared: defaultRegions } } }),
      requests: cpu === undefined ? {} : { cpu },
      hostPorts: port ? ['80/tcp'] : [],
      quotas: limit === undefined ? [] : [{ kind: 'containers', limit, used: 0, asked: 1 }],
    }),
  );

const someNodes = fc
  .array(anyNode, { maxLength: 9 })
  .map(changes => changes.map((change, position) => makeNode(`n${position}`, change)));

const told = ({ nodes, unplaced, refused }: PlacementResult) => ({
  nodes: nodes.map(({ id }) => id),
  unplaced,
  refused: unplaced === 0 ? [] : refused.toSorted((a, b) => (a.node < b.node ? -1 : 1)),
});

describe('placement, held against a model', () => {
  it('property: finds exactly the nodes that the model finds, and says of the others what the model says', () => {
    fc.assert(
      fc.property(someNodes, anyWorkload, fc.integer({ min: 1, max: 12 }), (nodes, what, count) => {
        expect(told(new NodeFleet(nodes).place(count, what))).to.deep.equal(told(model(count, nodes, what)));
        expect(told(new NodeFleet(nodes.toReversed()).place(count, what))).to.deep.equal(
          told(model(count, nodes, what)),
        );
      }),
      { numRuns: 1_500 },
    );
  });

  it('property: a fleet that was told of every change places as one that was made afterwards', () => {
    const change = fc.record({ at: fc.nat(8), to: fc.option(anyNode), what: anyWorkload, count: fc.nat(4) });
    fc.assert(
      fc.property(someNodes, fc.array(change, { maxLength: 12 }), (nodes, changes) => {
        const kept = new NodeFleet(nodes);
        const present = new Map(nodes.map(each => [each.id, each]));
        for (const { at, to, what, count } of changes) {
          const name = `n${at}`;
          if (to) {
            const next = makeNode(name, to);
            present.set(next.id, next);
            kept.put(next);
          } else {
            present.delete(`node_${name}`);
            kept.remove(`node_${name}`);
          }
          const fresh = new NodeFleet(present.values());
          expect(told(kept.place(count, what))).to.deep.equal(told(fresh.place(count, what)));
          expect(kept.totals).to.deep.equal(fresh.totals);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('property: no placement violates a filter, crosses tenants, or is missed', () => {
    fc.assert(
      fc.property(someNodes, anyWorkload, fc.integer({ min: 1, max: 12 }), (nodes, what, count) => {
        const { nodes: placed, unplaced, refused } = new NodeFleet(nodes).place(count, what);
        const around = new TopologyCounts(what, nodes);
        const present = new Map(nodes.map(each => [each.id, each]));
        for (const { id } of placed) {
          const now = present.get(id)!;
          expect(listRejections(now, what, around, filters)).to.deep.equal([]);
          expect(now.tenant).to.equal('t1');
          around.add(now);
          present.set(id, withReplicas(now, what));
        }
        expect(placed.length + unplaced).to.equal(count);
        if (unplaced === 0) return;
        expect(refused.map(each => each.node).toSorted()).to.deep.equal(nodes.map(each => each.name).toSorted());
        for (const { reasons } of refused) expect(reasons).to.not.have.length(0);
      }),
      { numRuns: 500 },
    );
  });

  it('property: an explanation names every node and every filter, and agrees with placement', () => {
    fc.assert(
      fc.property(someNodes, anyWorkload, (nodes, what) => {
        const { nodes: explained, able } = explainNodes(what, nodes, filters);
        expect(explained.map(each => each.node)).to.deep.equal(nodes.map(each => each.name).toSorted());
        for (const { verdicts, rank, replicas, whyHere } of explained) {
          expect(verdicts.map(({ filter }) => filter)).to.deep.equal(filters.map(({ name }) => name));
          expect(rank !== null).to.equal(verdicts.every(({ ok }) => ok));
          expect(whyHere !== undefined).to.equal(replicas > 0);
        }
        expect(explained.filter(({ rank }) => rank !== null).length).to.equal(able);
        const [winner] = new NodeFleet(nodes).place(1, what).nodes;
        const fresh = explained.every(({ replicas }) => replicas === 0);
        if (fresh) expect(explained.find(({ rank }) => rank === 1)?.nodeId).to.equal(winner?.id);
      }),
      { numRuns: 500 },
    );
  });
});
