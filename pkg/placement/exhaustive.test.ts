import { expect } from 'chai';
import fc from 'fast-check';

import type { LabelConstraint } from '../../crds/deployment/index.js';
import { defaultRegions, type Residency } from '../../crds/residency/index.js';
import { makeNode, makeWorkload } from './candidates.testing.js';
import { NodeFleet } from './fleet.js';
import type { Candidate, Workload } from './model.js';

/** How many replicas were put on each node, by position. */
type Counts = readonly number[];

/**
 * Whether a node may take one more replica: written from docs/PLACEMENT.md, without the code under test.
 */
function mayHold(position: number, counts: Counts, nodes: readonly Candidate[], what: Workload): boolean {
  const here = nodes[position]!;
  const { cpu = 0, memory = 0 } = what.requests;
  const more = counts[position]!;
  const all = counts.reduce((sum, count) => sum + count, 0);
  return (
    here.tenant === what.tenant &&
    here.status === 'ready' &&
    (what.platform || !here.controlPlane) &&
    (what.namedNode === undefined || what.namedNode === here.id) &&
    (!what.residency || isWhereDataMayBe(what.residency.asked, here.labels)) &&
    what.constraints.every(constraint => isAsAsked(constraint, here.labels[constraint.key])) &&
    what.antiAffinity.every(({ deployment, topologyKey, own }) => {
      const findDomain = ({ id, labels }: Candidate) => (topologyKey === 'node' ? id : labels[topologyKey]);
      const domain = findDomain(here);
      if (domain === undefined) return !own;
      const met = nodes.filter((other, at) => {
        const residents =
          (other.replicasByDeployment.get(deployment)?.all ?? 0) + (deployment === 'web' ? counts[at]! : 0);
        return findDomain(other) === domain && residents > 0;
      });
      return met.length === 0;
    }) &&
    what.hostPorts.every(port => !here.heldPorts.has(port) && more === 0) &&
    (cpu === 0 || here.used.cpu + (more + 1) * cpu <= here.capacity.cpu) &&
    (memory === 0 || here.used.memory + (more + 1) * memory <= here.capacity.memory) &&
    what.quotas.every(({ limit, used, asked }) => asked === 0 || used + (all + 1) * asked <= limit)
  );
}

function isWhereDataMayBe({ country, region, blockedCountries = [] }: Residency, labels: Candidate['labels']): boolean {
  const [own, named] = [labels['mooring.io/country'], labels['mooring.io/geo-region']];
  const covered = defaultRegions.find(({ name }) => name === region)?.countries ?? [];
  return (
    (country === undefined || own === country) &&
    (region === undefined || named === region || (own !== undefined && covered.includes(own))) &&
    (blockedCountries.length === 0 || (own !== undefined && !blockedCountries.includes(own)))
  );
}

function isAsAsked({ operator, values = [] }: LabelConstraint, label: string | undefined): boolean {
  if (operator === 'Exists' || operator === 'DoesNotExist') return (label !== undefined) === (operator === 'Exists');
  return (label !== undefined && values.includes(label)) === (operator === 'In');
}

/** The most replicas that any order and any choice of nodes can place. */
function most(left: number, counts: Counts, nodes: readonly Candidate[], what: Workload): number {
  if (left === 0) return 0;
  let best = 0;
  for (const position of nodes.keys()) {
    if (!mayHold(position, counts, nodes, what)) continue;
    best = Math.max(best, 1 + most(left - 1, counts.with(position, counts[position]! + 1), nodes, what));
    if (best === left) break;
  }
  return best;
}

const choose = <T>(...values: readonly T[]) => fc.constantFrom(...values);
/** Mostly undefined: a workload with every requirement fits nowhere and tests little. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, arbitrary);
const often = <T>(value: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(value) }, choose(...others));

const anyNode: fc.Arbitrary<Partial<Candidate>> = fc
  .record({
    tenant: often('t1', 't2'),
    status: often<Candidate['status']>('ready', 'failed', 'draining', 'joining', 'unknown'),
    controlPlane: often(false, true),
    zone: choose(undefined, 'x', 'y'),
    country: choose(undefined, 'DE', 'FR', 'US'),
    region: choose(undefined, undefined, 'eu', 'us'),
    used: fc.record({ cpu: choose(0, 1000, 1900), memory: choose(0, 3 * 2 ** 30) }),
    port: often(false, true),
    residents: fc.dictionary(choose('web', 'db'), fc.record({ all: fc.nat(2), staying: fc.constant(0) }), {
      maxKeys: 1,
    }),
  })
  .map(
    ({ zone, country, region, port, residents, ...rest }): Partial<Candidate> => ({
      ...rest,
      labels: {
        ...(zone && { zone }),
        ...(country && { 'mooring.io/country': country }),
        ...(region && { 'mooring.io/geo-region': region }),
      },
      heldPorts: new Set(port ? ['80/tcp'] : []),
      replicasByDeployment: new Map(Object.entries(residents)),
    }),
  );

const anyConstraint: fc.Arbitrary<LabelConstraint> = choose<LabelConstraint>(
  { key: 'zone', operator: 'In', values: ['x', 'z'] },
  { key: 'zone', operator: 'NotIn', values: ['x'] },
  { key: 'zone', operator: 'Exists' },
  { key: 'zone', operator: 'DoesNotExist' },
);

const anyWorkload: fc.Arbitrary<Workload> = fc
  .record({
    platform: fc.boolean(),
    named: seldom(fc.constant('node_n1')),
    asked: seldom(choose<Residency>({ country: 'DE' }, { region: 'eu' }, { blockedCountries: ['US'] })),
    constraint: seldom(anyConstraint),
    antiAffinity: fc.array(
      fc.record({ deployment: choose('web', 'db'), topologyKey: choose('node', 'zone'), own: fc.boolean() }),
      { maxLength: 1 },
    ),
    cpu: seldom(choose(100, 600)),
    memory: seldom(fc.constant(2 ** 30)),
    port: often(false, true),
    limit: seldom(choose(1, 2, 4)),
  })
  .map(({ platform, antiAffinity, named, asked, constraint, cpu, memory, port, limit }) =>
    makeWorkload({
      platform,
      antiAffinity,
      constraints: constraint ? [constraint] : [],
      ...(named !== undefined && { namedNode: named }),
      ...(asked && { residency: { asked, regions: { enforced: true, declared: defaultRegions } } }),
      requests: { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) },
      hostPorts: port ? ['80/tcp'] : [],
      quotas: limit === undefined ? [] : [{ kind: 'containers', limit, used: 1, asked: 1 }],
    }),
  );

const someNodes = fc
  .array(anyNode, { maxLength: 4 })
  .map(changes => changes.map((change, position) => makeNode(`n${position}`, change)));

describe('placement compared with an exhaustive search', () => {
  let [placedAll, placedSome, placedNone] = [0, 0, 0];

  it('property: keeps every rule, places as many replicas as any choice of nodes can, and names every node that rejects', () => {
    fc.assert(
      fc.property(someNodes, anyWorkload, fc.integer({ min: 1, max: 4 }), (nodes, what, count) => {
        const { nodes: placed, unplaced, refused } = new NodeFleet(nodes).place(count, what);
        let counts: Counts = nodes.map(() => 0);
        for (const { id } of placed) {
          const position = nodes.findIndex(each => each.id === id);
          expect(mayHold(position, counts, nodes, what), `${id} may not hold it`).to.equal(true);
          expect(nodes[position]!.tenant, 'the tenant boundary').to.equal(what.tenant);
          counts = counts.with(position, counts[position]! + 1);
        }
        expect(placed.length, 'as many as can be placed').to.equal(
          most(
            count,
            nodes.map(() => 0),
            nodes,
            what,
          ),
        );
        expect(placed.length + unplaced).to.equal(count);
        if (unplaced > 0) {
          expect(refused.map(each => each.node).toSorted()).to.deep.equal(nodes.map(({ name }) => name).toSorted());
          for (const { reasons } of refused) expect(reasons, 'why').to.not.have.length(0);
        }
        if (unplaced === 0) placedAll += 1;
        else if (placed.length > 0) placedSome += 1;
        else placedNone += 1;
      }),
      { numRuns: 3_000 },
    );
    const shares = [placedAll, placedSome, placedNone];
    for (const share of shares) expect(share, `too few of a kind: ${shares.join(', ')}`).to.be.greaterThan(200);
  });
});
