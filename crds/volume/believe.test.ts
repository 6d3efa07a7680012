import { expect } from 'chai';

import { believeReport } from './believe.js';
import type { VolumeTerm } from './terms.js';
import { makeTerm } from './terms.testing.js';
import type { SeenVolume } from './volume.js';

const AT = '2030-01-01T00:00:00.000Z';
const copy: SeenVolume = { id: 'vol_1', state: 'ready', role: 'replica', ...makeTerm(3), syncedEpoch: 3, syncedAt: AT };
const isProven = ({ epoch, generationId }: VolumeTerm, proof: string) => proof === `proof-${epoch}-${generationId}`;
const prove = (epoch: number) => `proof-${epoch}-${makeTerm(epoch).generationId}`;
const status = { epoch: 3, lineage: [2, 3].map(makeTerm) };
const believe = (change: Partial<SeenVolume>) => believeReport({ ...copy, ...change }, status, isProven);

describe('a report of a volume', () => {
  const final = { epoch: 4, snapshot: 's', at: AT };
  const rows: readonly (readonly [string, Partial<SeenVolume>])[] = [
    ['of the epoch that the store knows of', {}],
    ['of an earlier one', { ...makeTerm(2), syncedEpoch: 2 }],
    ['of one that is too far back to be remembered', { epoch: 1, generationId: 'f'.repeat(16), syncedEpoch: 1 }],
    ['that has failed', { state: 'failed', message: 'no room' }],
    ['with the last snapshot before a move', { final }],
  ];
  for (const [title, change] of rows) {
    it(`is believed without a proof: ${title}`, () => expect(believe(change)).to.deep.equal({ ...copy, ...change }));
  }

  it('of a later epoch is believed with the proof of it, which is left out: the store was restored from an old backup', () => {
    const later = { ...makeTerm(4), syncedEpoch: 4 };
    expect(believe({ ...later, epochProof: prove(4) })).to.deep.equal({ ...copy, ...later });
    expect(believe({ epochProof: prove(3) })).to.deep.equal(copy);
  });

  const lies: readonly (readonly [string, Partial<SeenVolume>])[] = [
    ['without a proof', { epoch: 9_999_999_999 }],
    ['with the proof of another epoch', { ...makeTerm(5), epochProof: prove(4) }],
    ['of which it says that its copy is later still', { ...makeTerm(4), syncedEpoch: 5, epochProof: prove(4) }],
    ['as the primary', { ...makeTerm(4), role: 'primary' }],
    ['of its copy alone', { syncedEpoch: 4 }],
  ];
  for (const [title, change] of lies) {
    it(`of a later epoch ${title} is one of a copy that fails, and says why`, () => {
      const { message, ...rest } = believe(change);
      expect(rest).to.deep.equal({ id: 'vol_1', state: 'failed' });
      const claimed = Math.max(change.epoch ?? 0, change.syncedEpoch ?? 0);
      expect(message).to.contain(`claims epoch ${claimed} `).and.to.contain('control plane knows of is 3');
    });
  }

  it('of an epoch that was issued again is believed only with the proof of its own generation', () => {
    for (const epoch of [2, 3]) {
      const other = { epoch, generationId: 'f'.repeat(16), syncedEpoch: epoch };
      expect(believe({ ...other, epochProof: prove(epoch) }).message).to.contain(
        `claims epoch ${epoch} of the volume in another generation and`,
      );
      const proven = believe({ ...other, epochProof: `proof-${epoch}-${other.generationId}` });
      expect(proven).to.deep.equal({ ...copy, ...other });
    }
  });

  it('names the order to move that was given, however far its epoch is raised', () => {
    const ordered = { ...status, finalFor: 1_700_000_001 };
    const told = { ...copy, final: { ...final, epoch: ordered.finalFor } };
    expect(believeReport(told, ordered, isProven)).to.deep.equal(told);
  });

  it('says that bytes are gone, whatever epoch it claims', () => {
    expect(believe({ state: 'removed', epoch: 8 })).to.deep.equal({ id: 'vol_1', state: 'removed' });
  });

  it('names no order to move that cannot have been given', () => {
    expect(believe({ final: { ...final, epoch: 9_999_999_999 } })).to.deep.equal(copy);
  });
});
