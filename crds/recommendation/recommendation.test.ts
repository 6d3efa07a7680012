import { expect } from 'chai';

import { getEntry } from '../rejections/index.js';
import type { KnownVolume } from '../volume/index.js';
import { type ApplyFacts, checkRecommendationApply, checkRecommendationQuery, type Recommendation } from './index.js';

const tenant = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';
const MIB = 2 ** 20;
const volume: KnownVolume = {
  id: 'vol_01jx4t9mk3v8q2zr5w7y6n0rdy',
  name: 'data',
  class: 'replicated',
  type: 'volume',
  sizeBytes: 10 * MIB,
  accessMode: 'ReadWriteOnce',
  phase: 'Ready',
  copies: [],
  consumers: [],
  usedBytes: 9 * MIB,
};
const recommendation: Recommendation = {
  id: 'rec_1',
  applicable: true,
  type: 'replication',
  priority: 'critical',
  volume_id: volume.id,
  volume_name: 'data',
  revision: '7',
  message: '',
  parameters: { action: 'set_replicas', target_replicas: 2 },
  measurement: { at: '2026-01-31T12:00:00.000Z' },
};
const facts: ApplyFacts = {
  recommendations: [recommendation],
  volumes: [volume],
  enrolled: 3,
  findRoom: () => undefined,
};
const replicas = (target_replicas: unknown, more = {}) => ({
  parameters: { action: 'set_replicas', target_replicas, ...more },
});
const resize = (target_size_bytes: unknown) => ({ parameters: { action: 'resize', target_size_bytes } });

const INVALID = 'dvm_recommendation_apply_invalid_spec spec';

type Outcome = {
  readonly ok: boolean;
  readonly rejections?: readonly { readonly code: string; readonly field: string }[];
};
const faults = (checked: Outcome) => (checked.rejections ?? []).map(({ code, field }) => `${code} ${field}`);

describe('a query for recommendations', () => {
  const cases: ReadonlyArray<{ query: Record<string, string>; header?: string; found: string[] }> = [
    { query: {}, header: tenant, found: [] },
    { query: { priority: 'critical', type: 'capacity' }, header: tenant, found: [] },
    { query: {}, found: ['dvm_recommendation_tenant_required X-Tenant-ID'] },
    { query: { priority: 'urgent' }, header: tenant, found: ['dvm_recommendation_unknown_priority priority'] },
    { query: { priority: '' }, header: tenant, found: ['dvm_recommendation_unknown_priority priority'] },
    { query: { type: 'Capacity' }, header: tenant, found: ['dvm_recommendation_unknown_type type'] },
    { query: { volume: 'x' }, header: tenant, found: ['query_parameter_unknown volume'] },
  ];
  for (const { query, header, found } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify(query)}`, () => {
      expect(faults(checkRecommendationQuery(query, header))).to.deep.equal(found);
    });
  }
});

describe('applying a recommendation', () => {
  const cases: ReadonlyArray<{ given: unknown; id?: string; otherFacts?: Partial<ApplyFacts>; found: string[] }> = [
    { given: replicas(2), found: [] },
    { given: resize(9 * MIB), found: [] },
    { given: replicas(2), id: 'rec_2', found: ['dvm_recommendation_not_found id'] },
    {
      given: replicas(2),
      otherFacts: { recommendations: [{ ...recommendation, applicable: false }] },
      found: ['dvm_recommendation_not_applicable id'],
    },
    { given: { parameters: {} }, found: ['dvm_recommendation_unknown_action parameters.action'] },
    { given: { parameters: { action: 'shrink' } }, found: ['dvm_recommendation_unknown_action parameters.action'] },
    { given: {}, found: ['field_invalid parameters'] },
    { given: replicas(undefined), found: ['dvm_recommendation_bad_parameter parameters.target_replicas'] },
    { given: replicas(0), found: ['dvm_recommendation_bad_parameter parameters.target_replicas'] },
    { given: replicas(21), found: ['dvm_recommendation_bad_parameter parameters.target_replicas'] },
    { given: replicas('2'), found: ['dvm_recommendation_bad_parameter parameters.target_replicas'] },
    {
      given: replicas(2, { target_size_bytes: 1 }),
      found: ['dvm_recommendation_bad_parameter parameters.target_size_bytes'],
    },
    { given: resize(-1), found: ['dvm_recommendation_bad_parameter parameters.target_size_bytes'] },
    { given: replicas(2, { force: true }), found: ['field_unknown parameters.force'] },
    { given: replicas(3), found: ['dvm_recommendation_insufficient_nodes parameters.target_replicas'] },
    { given: resize(9 * MIB - 1), found: ['dvm_recommendation_stale_measurement parameters.target_size_bytes'] },
    { given: replicas(2), otherFacts: { volumes: [] }, found: ['dvm_recommendation_volume_missing volume_id'] },
    { given: resize(MIB - 1), otherFacts: { volumes: [{ ...volume, usedBytes: 0 }] }, found: [INVALID] },
    { given: resize(20 * MIB), otherFacts: { findRoom: () => 19 * MIB }, found: [INVALID] },
    { given: resize(20 * MIB), otherFacts: { volumes: [{ ...volume, phase: 'Degraded' }] }, found: [INVALID] },
    { given: replicas(1), otherFacts: { volumes: [{ ...volume, replicas: 2 }] }, found: [INVALID] },
    { given: replicas(2), id: `rec_${'0'.repeat(26)}_grow`, found: ['dvm_recommendation_volume_missing volume_id'] },
    { given: replicas(2), id: `rec_${volume.id.slice(4)}_grow`, found: ['dvm_recommendation_not_found id'] },
    {
      given: replicas(2),
      otherFacts: { volumes: [{ ...volume, class: 'ephemeral' }] },
      found: ['dvm_recommendation_apply_invalid_spec spec'],
    },
  ];
  for (const { given, id = 'rec_1', otherFacts, found } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify(given)}`, () => {
      expect(faults(checkRecommendationApply(id, given, { ...facts, ...otherFacts }))).to.deep.equal(found);
    });
  }

  const shown = ['dvm_recommendation_bad_parameter', 'dvm_recommendation_unknown_action'] as const;
  for (const code of [
    ...shown,
    'dvm_recommendation_insufficient_nodes',
    'dvm_recommendation_stale_measurement',
  ] as const) {
    it(`${code}: the example earns it, and the fixed example is accepted`, () => {
      const found = faults(checkRecommendationApply('rec_1', getEntry(code).example, facts));
      expect(found.map(text => text.split(' ')[0])).to.deep.equal([code]);
      expect(faults(checkRecommendationApply('rec_1', getEntry(code).fixed, facts))).to.deep.equal([]);
    });
  }

  it('says what is to be done', () => {
    const checked = checkRecommendationApply('rec_1', resize(20 * MIB), facts);
    expect(checked.ok && checked.value).to.deep.equal({ volumeId: volume.id, action: 'resize', sizeBytes: 20 * MIB });
  });
});
