import { expect } from 'chai';
import fc from 'fast-check';

import { defaultRegions } from '../../crds/residency/index.js';
import { makeNode, makeWorkload } from './candidates.testing.js';
import { explainNodes } from './explain.js';
import { filters, isRejectedOtherwise, listRejections, rejectNodes } from './filters.js';
import { NodeFleet, type PlacementResult } from './fleet.js';
import { type Candidate, TopologyCounts, withReplicas, type Workload } from './model.js';
import { compareCandidates, findBest } from './rank.js';

/** A slow reference implementation of placement: every replica checks every node again. */
function placeByReference(count: number, candidates: readonly Candidate[], what: Workload): PlacementResult {
  const nodes = new Map(candidates.map(each => [each.id, each]));
  const counts = new TopologyCounts(what, candidates);
  const placed: Candidate[] = [];
  while (placed.length < count) {
    const able = [...nodes.values()].filter(node => listRejections(node, what, counts).length === 0);
    const winner = findBest(able, compareCandidates(what, counts));
    if (!winner) break;
    placed.push(winner);
    nodes.set(winner.id, withReplicas(winner, what));
    counts.add(winner);
  }
  return { nodes: placed, unplaced: count - placed.length, refused: rejectNodes(nodes.values(), what, counts) };
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
  .map(
    ({ zone, country, cpu, port, residents, ...rest }): Partial<Candidate> => ({
      ...rest,
      labels: { ...(zone && { zone }), ...(country && { 'mooring.io/country': country }) },
      used: { cpu, memory: 0 },
      heldPorts: new Set(port ? ['80/tcp'] : []),
      replicas: Object.keys(residents).length * 2,
      replicasByDeployment: new Map(Object.entries(residents)),
    }),
  );

const anyWorkload: fc.Arbitrary<Workload> = fc
  .record({
    platform: fc.boolean(),
    named: fc.constantFrom(undefined, undefined, undefined, 'node_n1'),
    asked: fc.constantFrom(undefined, undefined, { country: 'DE' }, { region: 'eu' }, { blockedCountries: ['US'] }),
    constraints: fc.constantFrom([], [], [{ key: 'zone', operator: 'In', values: ['x'] } as const]),
    antiAffinity: fc.array(
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
  .map(({ platform, constraints, antiAffinity, spreadOver, named, asked, cpu, port, limit }) =>
    makeWorkload({
      platform,
      constraints,
      antiAffinity,
      spreadOver,
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

const toComparable = ({ nodes, unplaced, refused }: PlacementResult) => ({
  nodes: nodes.map(({ id }) => id),
  unplaced,
  refused: unplaced === 0 ? [] : refused.toSorted((a, b) => (a.node < b.node ? -1 : 1)),
});

describe('placement compared with a reference implementation', () => {
  it('property: places on the same nodes as the reference and gives the same reasons for the others', () => {
    fc.assert(
      fc.property(someNodes, anyWorkload, fc.integer({ min: 1, max: 12 }), (nodes, what, count) => {
        expect(toComparable(new NodeFleet(nodes).place(count, what))).to.deep.equal(
          toComparable(placeByReference(count, nodes, what)),
        );
        expect(toComparable(new NodeFleet(nodes.toReversed()).place(count, what))).to.deep.equal(
          toComparable(placeByReference(count, nodes, what)),
        );
      }),
      { numRuns: 1_500 },
    );
  });

  it('property: a fleet updated node by node places as one built from the final nodes', () => {
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
          expect(toComparable(kept.place(count, what))).to.deep.equal(toComparable(fresh.place(count, what)));
          expect(kept.totals).to.deep.equal(fresh.totals);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('[3.22] property: places no replica against a filter or on another tenant’s node, and rejects every node with a reason when some are left', () => {
    fc.assert(
      fc.property(someNodes, anyWorkload, fc.integer({ min: 1, max: 12 }), (nodes, what, count) => {
        const { nodes: placed, unplaced, refused } = new NodeFleet(nodes).place(count, what);
        const counts = new TopologyCounts(what, nodes);
        const present = new Map(nodes.map(each => [each.id, each]));
        for (const { id } of placed) {
          const now = present.get(id)!;
          expect(listRejections(now, what, counts)).to.deep.equal([]);
          expect(now.tenant).to.equal('t1');
          counts.add(now);
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

  it('property: a replica that no anti-affinity concerns changes which filters reject its node by its ports and its requests alone', () => {
    const isApart = ({ deployment, antiAffinity }: Workload) =>
      antiAffinity.every(term => term.deployment !== deployment);
    let [changed, same] = [0, 0];
    fc.assert(
      fc.property(anyNode, anyWorkload, anyWorkload.filter(isApart), (change, waiting, what) => {
        // A quota is the tenant's, whatever node its replicas are on.
        const workload = { ...waiting, quotas: [], antiAffinity: what.antiAffinity };
        const before = makeNode('n0', change);
        const after = withReplicas(before, what);
        const list = (node: Candidate) =>
          listRejections(node, workload, new TopologyCounts(workload, [node]))
            .map(({ filter }) => filter)
            .join();
        const isOther = list(before) !== list(after);
        expect(isRejectedOtherwise(before, after, workload)).to.equal(isOther);
        expect(isRejectedOtherwise(after, before, workload)).to.equal(isOther);
        if (isOther) changed += 1;
        else same += 1;
      }),
      { numRuns: 2_000 },
    );
    for (const share of [changed, same]) expect(share, `too few of a kind: ${changed}, ${same}`).to.be.greaterThan(100);
  });

  it('property: an explanation names every node and every filter, and agrees with placement', () => {
    fc.assert(
      fc.property(someNodes, anyWorkload, (nodes, what) => {
        const { nodes: explained, able } = explainNodes(what, nodes);
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
