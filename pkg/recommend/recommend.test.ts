import { expect } from 'chai';
import fc from 'fast-check';

import { recommendationPriorities } from '../../crds/recommendation/index.js';
import { defaultRegions } from '../../crds/residency/index.js';
import type { VolumeReplica } from '../../crds/volume/index.js';
import { findLowSince, recommend, type TenantState, type VolumeState } from './index.js';
import type { NodeState } from './recommend.js';

const GIB = 2 ** 30;
const NOW = Date.parse('2026-01-31T12:00:00.000Z');
const ID = `vol_${'1'.repeat(26)}`;
const ago = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString();

const volume = (change: Partial<VolumeState['volume']> = {}, rest: Partial<VolumeState> = {}): VolumeState => ({
  volume: { id: ID, name: 'data', class: 'ephemeral', sizeBytes: 10 * GIB, ...change },
  phase: 'Ready',
  primaryNode: 'node_a',
  copies: [],
  usedBytes: 5 * GIB,
  measuredAt: ago(0),
  capacityBytes: change.sizeBytes ?? 10 * GIB,
  revision: 7,
  ...rest,
});
const used = (gib: number, rest: Partial<VolumeState> = {}) => volume({}, { usedBytes: gib * GIB, ...rest });
const copies = (...states: readonly VolumeReplica['state'][]) =>
  states.map((state, at) => ({ nodeId: `node_${'bcdef'[at]}`, state }));
const replicated = (replicas: number, ...states: readonly VolumeReplica['state'][]) =>
  volume({ class: 'replicated', replicas }, { copies: copies(...states) });
const node = (name: string, change: Partial<NodeState> = {}): NodeState => ({
  name,
  isImpaired: false,
  labels: { 'mooring.io/country': 'DE' },
  takesCopies: true,
  ...change,
});
const nodes = (...impaired: readonly string[]): TenantState['nodes'] =>
  new Map(['a', 'b', 'c', 'd'].map(name => [`node_${name}`, node(name, { isImpaired: impaired.includes(name) })]));
const regions = { enforced: true, declared: defaultRegions };
const tenant: TenantState = { nodes: nodes(), regions, quotaLeft: undefined, now: NOW };
/** Node a has the bytes; the others are as given. */
const others = (change: Partial<NodeState>): Partial<TenantState> => ({
  nodes: new Map(['a', 'b', 'c', 'd'].map(name => [`node_${name}`, node(name, name === 'a' ? {} : change)])),
});

describe('recommendations', () => {
  type Row = readonly [name: string, state: VolumeState, told: readonly string[], tenant?: Partial<TenantState>];
  const cases: readonly Row[] = [
    ['half full', used(5), []],
    ['nearly full', used(8), ['capacity high resize 13.4GiB']],
    ['full', used(9), ['capacity critical resize 15GiB']],
    ['just below', used(7.99), []],
    ['not measured', volume({}, { usedBytes: undefined }), []],
    [
      'full, and being resized',
      used(9.5, { phase: 'Resizing' }),
      ['capacity critical resize 15.9GiB: its size is being changed'],
    ],
    [
      'full, and asked to be larger',
      volume({ sizeBytes: 20 * GIB }, { usedBytes: 9 * GIB, capacityBytes: 10 * GIB }),
      ['capacity critical resize 20.1GiB: its size is being changed'],
    ],
    [
      'full, and refused the size that was asked for',
      volume({ sizeBytes: 20 * GIB }, { usedBytes: 9 * GIB, capacityBytes: 10 * GIB, isRefused: true }),
      ['capacity critical resize 20.1GiB: its node cannot give it the 20GiB that are asked for'],
    ],
    ['full, and degraded', used(9, { phase: 'Degraded' }), ['capacity critical resize 15GiB: its phase is Degraded']],
    ['full, above the quota', used(9), ['capacity critical resize 15GiB: 5GiB more'], { quotaLeft: GIB }],
    ['full, within the quota', used(9), ['capacity critical resize 15GiB'], { quotaLeft: 5 * GIB }],
    ['full, without room', used(9, { roomBytes: 12 * GIB }), ['capacity critical resize 15GiB: its node has room']],
    ['nearly empty', used(1), []],
    ['nearly empty for a day', used(1, { lowSince: ago(24) }), ['capacity low resize 1.7GiB']],
    ['nearly empty for less', used(1, { lowSince: ago(23.9) }), []],
    ['small and empty', volume({ sizeBytes: 2 ** 28 }, { usedBytes: 1, lowSince: ago(99) }), []],
    ['of objects', volume({ class: 'object' }, { usedBytes: 10 * GIB }), []],
    ['going', used(9, { phase: 'Deleting' }), []],
    ['not made yet', used(9, { phase: 'Materializing' }), []],
    ['without any copy', replicated(1), ['replication critical set_replicas 1: as many replicas']],
    ['without any copy, and none is wanted', replicated(0), ['replication critical set_replicas 1']],
    [
      'without any copy, and none is wanted, with one node',
      replicated(0),
      ['replication critical set_replicas 1: 1 replica needs 2 nodes, and 1 can be used'],
      { nodes: new Map([['node_a', node('a')]]) },
    ],
    [
      'without any copy, where the others take none',
      replicated(0),
      ['replication critical set_replicas 1: 1 replica needs 2 nodes, and 1 can be used'],
      others({ takesCopies: false }),
    ],
    [
      'without any copy, where the others keep volumes with another driver',
      volume({ class: 'replicated', replicas: 0 }, { driver: 'btrfs' }),
      ['replication critical set_replicas 1: 1 replica needs 2 nodes, and 1 can be used'],
      others({ volumeDriver: 'directory' }),
    ],
    [
      'without any copy, where the others do not say what keeps volumes there',
      volume({ class: 'replicated', replicas: 0 }, { driver: 'btrfs' }),
      ['replication critical set_replicas 1'],
    ],
    [
      'without any copy, where the others are outside of its residency',
      volume({ class: 'replicated', replicas: 0, residency: { country: 'DE' } }),
      ['replication critical set_replicas 1: 1 replica needs 2 nodes, and 1 can be used'],
      others({ labels: { 'mooring.io/country': 'FR' } }),
    ],
    [
      'without any copy, where its own node is outside of its residency',
      volume({ class: 'replicated', replicas: 0, residency: { country: 'DE' } }),
      ['replication critical set_replicas 1'],
      {
        nodes: new Map([...nodes(), ['node_a', node('a', { labels: {} })]])
          .set('node_c', node('c', { labels: {} }))
          .set('node_d', node('d', { labels: {} })),
      },
    ],
    [
      'without any copy, with a residency that asks for nothing where none is enforced',
      volume({ class: 'replicated', replicas: 0, residency: { blockedCountries: [] } }),
      ['replication critical set_replicas 1'],
      { regions: { ...regions, enforced: false } },
    ],
    [
      'without any copy, where the others are inside of its residency',
      volume({ class: 'replicated', replicas: 0, residency: { country: 'DE' } }),
      ['replication critical set_replicas 1'],
    ],
    [
      'without any copy, where none may be on the others',
      volume({ class: 'replicated', replicas: 0, excludedNodes: ['node_b', 'node_c', 'node_d'] }),
      ['replication critical set_replicas 1: 1 replica needs 2 nodes, and 1 can be used'],
    ],
    ['whose last copy leaves', replicated(0, 'synced'), []],
    ['synced', replicated(2, 'synced', 'synced'), []],
    [
      'without a synced copy',
      replicated(1, 'syncing'),
      ['replication critical set_replicas 1: the copies are being made'],
    ],
    [
      'with one of two synced',
      replicated(2, 'synced', 'syncing'),
      ['replication high set_replicas 2: the copies are being made'],
    ],
    [
      'with one lost',
      replicated(2, 'synced', 'lost'),
      ['replication high set_replicas 2: a copy is made beside the lost one by itself'],
    ],
    [
      'with one lost and another on its way',
      replicated(2, 'lost', 'syncing'),
      ['replication critical set_replicas 2: a copy is made beside the lost one by itself'],
    ],
    ['with all lost', replicated(1, 'lost'), ['replication critical set_replicas 2']],
    [
      '[8.10] with one lost and too few nodes',
      replicated(3, 'lost'),
      ['replication critical set_replicas 4: 4 replicas need 5 nodes, and 4 can be used'],
    ],
    ['on a node that is well', volume(), []],
    [
      'on a node that is impaired',
      volume(),
      ['placement high undefined undefined: a person has to repair or replace a'],
      { nodes: nodes('a') },
    ],
    [
      'with a copy on one',
      replicated(1, 'synced'),
      ['placement high undefined undefined: a person has to repair or replace b'],
      { nodes: nodes('b') },
    ],
  ];
  for (const [name, state, told, more] of cases) {
    it(`about a volume ${name}: ${told.join(', ') || 'none'}`, () => {
      const found = recommend([state], { ...tenant, ...more }).map(({ type, priority, parameters, reason }) => {
        const { action, target_size_bytes: size, target_replicas: replicas } = parameters;
        const target = size === undefined ? replicas : `${Math.round((size / GIB) * 10) / 10}GiB`;
        return `${type} ${priority} ${String(action)} ${String(target)}${reason === undefined ? '' : `: ${reason}`}`;
      });
      expect(found).to.have.length(told.length);
      for (const [at, text] of told.entries()) expect(found[at]).to.match(new RegExp(`^${text}`));
      if (told.length > 0 && !told[0]!.includes(':')) expect(found[0]).not.to.contain(': ');
    });
  }

  it('say the measurement, its time and the arithmetic', () => {
    const [found] = recommend([used(9)], tenant);
    expect(found).to.deep.include({
      applicable: true,
      volume_id: ID,
      volume_name: 'data',
      revision: '7',
      measurement: { at: ago(0), usedBytes: 9 * GIB, sizeBytes: 10 * GIB },
    });
    expect(found?.message).to.equal(
      'volume data holds 9GiB of 10GiB, 90 %: with 15GiB it would be 9GiB ÷ 15GiB = 60 %',
    );
  });

  it('begin with the most urgent, whatever the order of volumes', () => {
    const other = { id: `vol_${'2'.repeat(26)}`, name: 'a' };
    const states = [
      used(1, { lowSince: ago(30) }),
      volume({ class: 'replicated', replicas: 1, ...other }, { copies: copies('lost'), usedBytes: 8 * GIB }),
    ];
    const found = recommend(states, tenant);
    expect(found.map(({ priority }) => priority)).to.deep.equal(['critical', 'high', 'low']);
    expect(recommend(states.toReversed(), tenant)).to.deep.equal(found);
  });

  it('[2.6.8] property: ids are one for each condition, stay while it holds, and targets are sizes that fit', () => {
    const gib = fc.integer({ min: 0, max: 20 });
    fc.assert(
      fc.property(gib, gib, fc.integer({ min: 1, max: 20 }), fc.boolean(), (first, second, size, isLow) => {
        const state = (holds: number) =>
          volume(
            { sizeBytes: size * GIB },
            { usedBytes: holds * GIB, capacityBytes: size * GIB, ...(isLow && { lowSince: ago(48) }) },
          );
        const [before, after] = [recommend([state(first)], tenant), recommend([state(second)], tenant)];
        for (const { id, parameters, priority } of before) {
          const target = parameters.target_size_bytes!;
          expect(target, id).to.be.at.least(first * GIB);
          expect(target > size * GIB).to.equal(id.endsWith('_grow'));
          expect(recommendationPriorities).to.include(priority);
          const same = after.find(each => each.parameters.target_size_bytes! > size * GIB === target > size * GIB);
          if (same) expect(same.id).to.equal(id);
        }
        expect(new Set(before.map(({ id }) => id)).size).to.equal(before.length);
      }),
    );
  });

  it('property: whatever is recommended of copies, applying it ends that it can be applied', () => {
    const state = fc.constantFrom<VolumeReplica['state']>('synced', 'syncing', 'lost');
    const many = new Map(Array.from({ length: 30 }, (_, at) => [`node_${at}`, node(`n${at}`)]));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), fc.array(state, { maxLength: 20 }), (wanted, states) => {
        const held = states.map((each, at) => ({ nodeId: `node_${at + 1}`, state: each }));
        const before = volume({ class: 'replicated', replicas: wanted }, { copies: held });
        const [found] = recommend([before], { ...tenant, nodes: many });
        if (!found?.applicable) return;
        const target = found.parameters.target_replicas!;
        expect(target).to.be.greaterThan(wanted);
        const added = Array.from({ length: Math.max(0, target - held.length) }, (_, at) => ({
          nodeId: `node_${held.length + at + 1}`,
          state: 'synced' as const,
        }));
        const after = volume({ class: 'replicated', replicas: target }, { copies: [...held, ...added] });
        const left = recommend([after], { ...tenant, nodes: many });
        expect(left.filter(({ applicable }) => applicable)).to.deep.equal([]);
      }),
    );
  });

  it('know since when a volume is nearly empty', () => {
    expect(findLowSince(used(3), ago(5), NOW)).to.equal(undefined);
    expect(findLowSince(used(2), ago(5), NOW)).to.equal(ago(5));
    expect(findLowSince(used(2), undefined, NOW)).to.equal(ago(0));
    expect(findLowSince(volume({}, { usedBytes: undefined }), ago(5), NOW)).to.equal(undefined);
  });
});
