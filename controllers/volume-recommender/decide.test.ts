import { expect } from 'chai';
import fc from 'fast-check';

import type { AdviceRecord } from '../../crds/recommendation/index.js';
import { defaultRegions } from '../../crds/residency/index.js';
import type { TenantState, VolumeState } from '../../pkg/recommend/index.js';
import { decideAdvice } from './decide.js';

const GIB = 2 ** 30;
const ID = `vol_${'1'.repeat(26)}`;
const NOW = Date.parse('2026-01-31T12:00:00.000Z');
const ago = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString();
const regions = { enforced: true, declared: defaultRegions };
const tenant: TenantState = { nodes: new Map(), regions, quotaLeft: undefined, now: NOW };
const holding = (gib: number): VolumeState => ({
  volume: { id: ID, name: 'data', class: 'ephemeral', sizeBytes: 10 * GIB },
  phase: 'Ready',
  copies: [],
  usedBytes: gib * GIB,
  measuredAt: ago(0),
  capacityBytes: 10 * GIB,
  revision: 7,
});
const grow = { id: `rec_${'1'.repeat(26)}_grow`, type: 'capacity', priority: 'high' } as const;
const told = (change: Partial<AdviceRecord> = {}): AdviceRecord => ({
  volume: { id: ID, name: 'data' },
  told: [grow],
  ...change,
});

describe('the volume recommender', () => {
  type Row = readonly [name: string, gib: number | undefined, before: AdviceRecord | undefined, wanted: string];
  const cases: readonly Row[] = [
    ['nothing to say', 5, undefined, 'none'],
    ['something new', 8, undefined, 'appeared grow high, record'],
    ['something known', 8, told(), 'same'],
    ['something more urgent', 9, told(), 'changed grow critical, record'],
    ['something past', 5, told(), 'vanished grow, none'],
    ['a volume that is gone', undefined, told(), 'vanished grow, none'],
    ['nearly empty from now on', 1, undefined, 'record since 0h, again 24h'],
    ['nearly empty for long', 1, told({ told: [], lowSince: ago(23) }), 'same since 23h, again 1h'],
    ['nearly empty for a day', 1, told({ told: [], lowSince: ago(24) }), 'appeared shrink low, record since 24h'],
    ['filled again', 5, told({ told: [], lowSince: ago(30) }), 'none'],
  ];
  for (const [name, gib, before, wanted] of cases) {
    it(`${name}: ${wanted}`, () => {
      const state = gib === undefined ? undefined : holding(gib);
      const decision = decideAdvice({ id: ID, state, tenant, before });
      const short = (id: string) => id.replace(/^rec_1+_/, '');
      const { record, againMs } = decision;
      const since = record?.lowSince === undefined ? '' : ` since ${(NOW - Date.parse(record.lowSince)) / 3_600_000}h`;
      const words = [
        ...decision.appeared.map(({ id, priority }) => `appeared ${short(id)} ${priority}`),
        ...decision.changed.map(({ id, priority }) => `changed ${short(id)} ${priority}`),
        ...decision.vanished.map(({ id }) => `vanished ${short(id)}`),
        `${record ? (record === before ? 'same' : 'record') : 'none'}${since}`,
        ...(againMs === undefined ? [] : [`again ${againMs / 3_600_000}h`]),
      ];
      expect(words.join(', ')).to.equal(wanted);
    });
  }

  it('remembers a growth that was refused for an hour after it was taken back, or until there is more room', () => {
    const at = (hours: number) => ({ ...tenant, now: NOW + hours * 3_600_000 });
    const look = (before: AdviceRecord | undefined, change: Partial<VolumeState>, hours = 0, sizeBytes = 10 * GIB) => {
      const state = { ...holding(5), ...change, volume: { ...holding(5).volume, sizeBytes } };
      return decideAdvice({ id: ID, state, tenant: at(hours), before });
    };
    const refused = look(undefined, { isRefused: true, roomBytes: 15 * GIB }, 0, 14 * GIB);
    expect(refused).to.deep.include({ isHeldBack: true, againMs: undefined });
    expect(refused.record?.refused).to.deep.equal({ bytes: 14 * GIB, roomBytes: 15 * GIB });
    const still = look(refused.record, { isRefused: true, roomBytes: 12 * GIB }, 5, 14 * GIB);
    expect(still.record).to.equal(refused.record);

    const back = look(still.record, { roomBytes: 15 * GIB }, 6);
    expect(back).to.include({ isHeldBack: true, againMs: 3_600_000 });
    expect(look(back.record, { roomBytes: 15 * GIB }, 6.5)).to.include({ isHeldBack: true, againMs: 1_800_000 });
    expect(look(back.record, { roomBytes: 15 * GIB }, 7)).to.include({ isHeldBack: false, record: undefined });
    expect(look(back.record, { roomBytes: 16 * GIB }, 6.5).isHeldBack, 'more room').to.equal(false);
    expect(look(refused.record, { capacityBytes: 14 * GIB }, 6, 14 * GIB).isHeldBack, 'it was done').to.equal(false);
  });

  it('property: whatever was announced, it says each difference once', () => {
    const gib = fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined });
    fc.assert(
      fc.property(fc.array(gib, { maxLength: 8 }), fc.boolean(), (amounts, isLow) => {
        let before: AdviceRecord | undefined = isLow ? told({ lowSince: ago(48) }) : undefined;
        for (const amount of amounts) {
          const state = amount === undefined ? undefined : holding(amount);
          const first = decideAdvice({ id: ID, state, tenant, before });
          const again = decideAdvice({ id: ID, state, tenant, before: first.record });
          expect([again.appeared, again.changed, again.vanished]).to.deep.equal([[], [], []]);
          expect(again.record).to.equal(first.record);
          before = first.record;
        }
      }),
    );
  });
});
