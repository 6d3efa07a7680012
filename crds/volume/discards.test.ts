import { expect } from 'chai';

import { listOpenDiscards } from './discards.js';
import type { VolumeReport } from './volume.js';

const AT = '2026-01-01T00:00:00.000Z';
const order = { nodeId: 'b', name: 'divergent-1', at: AT };
const kept = { name: 'divergent-1', epoch: 1, at: AT };

describe('an order to remove divergent bytes', () => {
  const rows: readonly (readonly [when: string, report: Partial<VolumeReport> | undefined, isOpen: boolean])[] = [
    ['its node has said nothing', undefined, true],
    ['its node still has them', { epoch: 2, divergent: [kept] }, true],
    ['its node takes another part', {}, true],
    ['its node cannot provide the volume and remembers them', { state: 'failed', epoch: 2, divergent: [kept] }, true],
    ['its node cannot provide the volume and remembers nothing', { state: 'failed' }, true],
    ['they are gone', { epoch: 2 }, false],
    ['others of their name are there', { epoch: 2, divergent: [{ ...kept, at: '2026-02-01T00:00:00.000Z' }] }, false],
    ['its node has removed everything', { state: 'removed' }, false],
  ];
  for (const [when, report, isOpen] of rows) {
    it(`is ${isOpen ? 'kept' : 'dropped'} when ${when}`, () => {
      const reports = report ? [{ id: 'v', nodeId: 'b', state: 'ready', at: AT, ...report } as VolumeReport] : [];
      const status = { primaryNode: 'a', copies: [{ nodeId: 'b', state: 'synced' as const }] };
      expect(listOpenDiscards({ discarded: [order] }, status, reports)).to.deep.equal(isOpen ? [order] : []);
    });
  }

  it('is dropped with its node', () => {
    expect(listOpenDiscards({ discarded: [order] }, { primaryNode: 'a', copies: [] }, [])).to.deep.equal([]);
  });
});
