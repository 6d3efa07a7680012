import { expect } from 'chai';
import fc from 'fast-check';

import { defaultRegions } from '../residency/index.js';
import { undoAlterations } from '../rule/undo-alterations.testing.js';
import {
  admitVolume,
  checkVolumeReplica,
  checkVolumeReports,
  countLagSeconds,
  type KnownVolume,
  type VolumeFacts,
  rejectVolumeRemoval,
} from './index.js';

const node = (digit: string, country: string) => ({
  id: `node_${digit.repeat(26)}`,
  name: `machine-${digit}`,
  labels: { 'mooring.io/country': country },
});
const facts: VolumeFacts = {
  nodes: [node('1', 'DE'), node('2', 'FR'), node('3', 'US')],
  regions: { enforced: true, declared: defaultRegions },
};
const sound = { name: 'data', class: 'replicated', sizeBytes: 2 ** 30 };

describe('admission of a volume', () => {
  const cases: ReadonlyArray<{ given: Record<string, unknown>; otherFacts?: Partial<VolumeFacts>; found: string[] }> = [
    { given: {}, found: [] },
    { given: { class: 'object' }, found: [] },
    { given: { class: 'ephemeral', type: 'tmpfs' }, found: [] },
    { given: { class: 'fast' }, found: ['field_invalid class'] },
    { given: { class: undefined }, found: ['field_invalid class'] },
    { given: { type: 'tmpfs' }, found: ['field_invalid type'] },
    { given: { type: 'bind' }, found: ['field_invalid type'] },
    { given: { class: 'ephemeral', type: 'bind' }, found: [] },
    { given: { name: '..' }, found: ['field_invalid name'] },
    { given: { hostPath: '/etc' }, found: ['field_unknown hostPath'] },
    { given: { name: 'Data' }, found: ['field_invalid name'] },
    { given: { sizeBytes: 2 ** 20 }, found: [] },
    { given: { sizeBytes: 2 ** 20 - 1 }, found: ['field_invalid sizeBytes'] },
    { given: { sizeBytes: '1Gi' }, found: ['field_invalid sizeBytes'] },
    { given: { sizeBytes: 2 ** 60 }, found: ['field_invalid sizeBytes'] },
    { given: { accessMode: 'ReadWriteMany' }, found: ['field_invalid accessMode'] },
    { given: { replicas: 20 }, found: [] },
    { given: { replicas: 21 }, found: ['field_invalid replicas'] },
    { given: { replicas: 0 }, found: ['field_invalid replicas'] },
    { given: { class: 'ephemeral', replicas: 1 }, found: ['volume_replica_unsupported replicas'] },
    { given: { primaryNode: 'machine-1' }, found: [] },
    { given: { primaryNode: 'machine-9' }, found: ['node_not_a_placement_candidate primaryNode'] },
    {
      given: { primaryNode: 'machine-1' },
      otherFacts: { nodes: [] },
      found: ['node_candidates_unresolvable primaryNode'],
    },
    {
      given: { primaryNode: 'x' },
      otherFacts: { nodes: 'unreadable' },
      found: ['node_candidates_unresolvable primaryNode'],
    },
    { given: { residency: { country: 'de' } }, found: [] },
    { given: { residency: { country: 'Germany' } }, found: ['residency_country_invalid residency.country'] },
    { given: { residency: { region: 'mars' } }, found: ['residency_region_unknown residency.region'] },
    { given: { phase: 'Ready' }, found: ['field_unknown phase'] },
  ];
  for (const { given, otherFacts, found } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify({ ...given, ...otherFacts })}`, () => {
      const admission = admitVolume({ ...sound, ...given }, { ...facts, ...otherFacts });
      const complaints = admission.ok ? [] : admission.rejections.map(({ code, field }) => `${code} ${field}`);
      expect(complaints).to.deep.equal(found);
    });
  }

  const document = fc
    .record(
      {
        name: fc.stringMatching(/^[a-z]{1,9}$/),
        class: fc.constantFrom('ephemeral', 'replicated', 'object'),
        type: fc.constantFrom('volume', 'bind'),
        sizeBytes: fc.integer({ min: 2 ** 20, max: 2 ** 40 }),
        accessMode: fc.constant('ReadWriteOnce'),
        replicas: fc.integer({ min: 1, max: 20 }),
        primaryNode: fc.constantFrom('machine-1', `node_${'2'.repeat(26)}`),
        residency: fc.record(
          { country: fc.constantFrom('DE', 'fr'), region: fc.constantFrom('eu', 'apac') },
          { requiredKeys: [], noNullPrototype: true },
        ),
      },
      { requiredKeys: ['name', 'class', 'sizeBytes'], noNullPrototype: true },
    )
    .map(({ replicas, type, ...rest }) => {
      const isCopied = rest.class === 'replicated';
      const isTyped = type !== undefined && !(isCopied && type === 'bind');
      return { ...rest, ...(isTyped && { type }), ...(isCopied && replicas !== undefined && { replicas }) };
    });

  it('stores what was sent, except for what it announces', () => {
    fc.assert(
      fc.property(document, sent => {
        const admission = admitVolume(sent, facts);
        if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
        expect(undoAlterations(admission.spec, admission.alterations)).to.deep.equal(sent);
        const again = admitVolume(admission.spec, facts);
        expect(again.ok && [again.spec, again.alterations]).to.deep.equal([admission.spec, []]);
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses one mutation with exactly its code', () => {
    const mutations = cases.filter(({ found, otherFacts }) => found.length === 1 && otherFacts === undefined);
    fc.assert(
      fc.property(document, fc.constantFrom(...mutations), (sent, { given, found }) => {
        const admission = admitVolume({ ...sent, class: 'replicated', type: 'volume', ...given }, facts);
        expect(admission.ok ? [] : admission.rejections.map(({ code, field }) => `${code} ${field}`)).to.deep.equal(
          found,
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('[2.6.6] fills in what was not said, announced, and warns of copies without a node', () => {
    const admission = admitVolume({ ...sound, replicas: 3, primaryNode: 'machine-2' }, facts);
    if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
    expect(admission.spec).to.deep.equal({
      ...sound,
      type: 'volume',
      accessMode: 'ReadWriteOnce',
      replicas: 3,
      primaryNode: `node_${'2'.repeat(26)}`,
    });
    expect(admission.alterations.map(({ field }) => field)).to.deep.equal(['type', 'accessMode', 'primaryNode']);
    expect(admission.warnings.map(({ code }) => code)).to.deep.equal(['volume_replicas_wait_for_nodes']);
  });

  it('counts replicas and nodes in the warning of copies without a node', () => {
    const warn = (replicas: number, count: number) => {
      const nodes = facts.nodes === 'unreadable' ? [] : facts.nodes.slice(0, count);
      const admission = admitVolume({ ...sound, replicas }, { ...facts, nodes });
      return admission.ok && admission.warnings[0]?.message.replace(/:.*/, '');
    };
    expect(warn(1, 1)).to.equal('1 replica needs 2 nodes, and 1 is enrolled');
    expect(warn(3, 2)).to.equal('3 replicas need 4 nodes, and 2 are enrolled');
  });
});

const volume: KnownVolume = {
  id: 'vol_01jx4t9mk3v8q2zr5w7y6n0rdy',
  name: 'data',
  class: 'replicated',
  type: 'volume',
  sizeBytes: 2 ** 30,
  accessMode: 'ReadWriteOnce',
  phase: 'Ready',
  primaryNode: `node_${'1'.repeat(26)}`,
  copies: [],
  consumers: [],
};

describe('one more copy of a volume', () => {
  const cases: ReadonlyArray<{
    given: unknown;
    of?: Partial<KnownVolume>;
    otherFacts?: Partial<VolumeFacts>;
    found: string[];
  }> = [
    { given: { node_id: 'machine-2' }, found: [] },
    { given: { node_id: `node_${'2'.repeat(26)}` }, found: [] },
    { given: {}, found: ['field_invalid node_id'] },
    { given: { nodeId: 'machine-2' }, found: ['field_invalid node_id', 'field_unknown nodeId'] },
    { given: { node_id: 'machine-2' }, of: { class: 'ephemeral' }, found: ['volume_replica_unsupported node_id'] },
    { given: { node_id: 'machine-1' }, found: ['volume_replica_node_conflict node_id'] },
    { given: { node_id: 'machine-9' }, found: ['volume_replica_node_conflict node_id'] },
    {
      given: { node_id: 'machine-2' },
      of: { copies: [{ nodeId: `node_${'2'.repeat(26)}`, state: 'syncing' }] },
      found: ['volume_replica_node_conflict node_id'],
    },
    {
      given: { node_id: 'machine-3' },
      of: { residency: { region: 'eu' } },
      found: ['volume_replica_node_conflict node_id'],
    },
    {
      given: { node_id: 'machine-2' },
      otherFacts: { nodes: 'unreadable' },
      found: ['node_candidates_unresolvable node_id'],
    },
    {
      given: { node_id: 'machine-2' },
      otherFacts: { nodes: [{ ...node('2', 'FR'), noCopies: 'without an address' }] },
      found: ['volume_replica_node_conflict node_id'],
    },
    { given: { node_id: 'machine-2' }, of: { replicas: 19 }, found: [] },
    { given: { node_id: 'machine-2' }, of: { replicas: 20 }, found: ['field_invalid node_id'] },
  ];
  for (const { given, of, otherFacts, found } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify({ given, of, otherFacts })}`, () => {
      const checked = checkVolumeReplica(given, { ...facts, ...otherFacts, volume: { ...volume, ...of } });
      expect(checked.ok ? [] : checked.rejections.map(({ code, field }) => `${code} ${field}`)).to.deep.equal(found);
      if (checked.ok) expect(checked.value.nodeId).to.equal(`node_${'2'.repeat(26)}`);
    });
  }
});

describe('the refusal of a copy', () => {
  it('names the nodes that can hold it, and says of each other why it cannot', () => {
    const nodes = [
      node('1', 'DE'),
      node('2', 'DE'),
      { ...node('3', 'DE'), noCopies: 'on the volume driver directory, not btrfs' },
      node('4', 'US'),
    ];
    const given = { node_id: 'machine-3' };
    const checked = checkVolumeReplica(given, { ...facts, nodes, volume: { ...volume, residency: { country: 'DE' } } });
    expect(checked.ok ? '' : checked.rejections[0]?.expected).to.equal(
      'a node that can hold another copy: machine-2 (machine-1 is the node of its primary; machine-3 is on the volume driver directory, not btrfs; machine-4 is outside its residency)',
    );
  });
});

describe('removal of a volume', () => {
  it('is refused while a deployment mounts it, by name', () => {
    const refusal = rejectVolumeRemoval({ ...volume, consumers: [{ deployment: 'db', readOnly: true }] });
    expect([refusal?.code, refusal?.status]).to.deep.equal(['volume_in_use', 409]);
    expect(refusal?.expected).to.contain('db');
    expect(rejectVolumeRemoval(volume)).to.equal(undefined);
  });
});

describe('reports of volumes', () => {
  const check = (change: object) => checkVolumeReports({ volumes: [{ id: 'vol_1', state: 'ready', ...change }] }).ok;
  it('tell no epoch that the names of snapshots have no digits for', () => {
    expect(check({ epoch: 9_999_999_999, syncedEpoch: 9_999_999_999 })).to.equal(true);
    expect(check({ epoch: 10_000_000_000 })).to.equal(false);
    expect(check({ syncedEpoch: 10_000_000_000 })).to.equal(false);
  });
});

describe('the lag of a copy', () => {
  const NOW = Date.parse('2026-01-31T12:00:00.000Z');
  const cases: readonly [string, Parameters<typeof countLagSeconds>[0], number | undefined][] = [
    ['is not known of one that was never complete', { lagBytes: 5 }, undefined],
    [
      'is none where nothing is missing, however long ago that was sent',
      { syncedAt: '2026-01-01T00:00:00Z', lagBytes: 0 },
      0,
    ],
    ['is the age of what it shows', { syncedAt: '2026-01-31T11:58:30.400Z', lagBytes: 5 }, 89],
    ['is that age too where nobody knows what is missing', { syncedAt: '2026-01-31T11:59:00Z' }, 60],
    ['is never negative: clocks differ', { syncedAt: '2026-01-31T12:00:09Z', lagBytes: 5 }, 0],
  ];
  for (const [name, copy, seconds] of cases) {
    it(name, () => expect(countLagSeconds(copy, NOW)).to.equal(seconds));
  }

  it('counts from the last heartbeat of the primary, where nothing was missing then', () => {
    const even = { syncedAt: '2026-01-01T00:00:00Z', lagBytes: 0 };
    const since = '2026-01-31T11:50:00Z';
    expect(countLagSeconds(even, NOW, { reason: 'volume_node_silent', since })).to.equal(600);
    expect(countLagSeconds(even, NOW, { reason: 'volume_ready', since })).to.equal(0);
  });
});
