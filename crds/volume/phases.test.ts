import { expect } from 'chai';
import fc from 'fast-check';

import { stepTowards, type VolumePhase, volumePhases } from './phases.js';

describe('phases of a volume', () => {
  const moves: Readonly<Record<VolumePhase, readonly VolumePhase[]>> = {
    Pending: ['Materializing'],
    Materializing: ['Ready'],
    Ready: ['Degraded', 'Resizing'],
    Degraded: ['Ready', 'Promoting'],
    Promoting: ['Ready', 'Failed'],
    Resizing: ['Ready'],
    Failed: ['Promoting'],
    Deleting: [],
  };
  const listMoves = (from: VolumePhase): readonly VolumePhase[] =>
    from === 'Deleting' ? [] : [...moves[from], 'Deleting'];
  for (const from of volumePhases) {
    const wanted = listMoves(from);
    it(`${from} leads to ${wanted.join(', ') || 'nothing'}`, () => {
      expect(volumePhases.filter(to => to !== from && stepTowards(from, to) === to)).to.have.members(wanted);
    });
  }

  const steps: readonly (readonly [VolumePhase, VolumePhase, VolumePhase])[] = [
    ['Pending', 'Ready', 'Materializing'],
    ['Pending', 'Degraded', 'Materializing'],
    ['Degraded', 'Failed', 'Promoting'],
    ['Ready', 'Ready', 'Ready'],
    ['Ready', 'Materializing', 'Ready'],
    ['Failed', 'Ready', 'Promoting'],
    ['Deleting', 'Ready', 'Deleting'],
  ];
  for (const [from, to, next] of steps) {
    it(`from ${from} to ${to}: ${next}`, () => expect(stepTowards(from, to)).to.equal(next));
  }

  it('property: every step is a move of the table, and comes nearer', () => {
    const phase = fc.constantFrom(...volumePhases);
    fc.assert(
      fc.property(phase, phase, (from, to) => {
        const seen: VolumePhase[] = [from];
        for (let at = from, next = stepTowards(at, to); next !== at; at = next, next = stepTowards(at, to)) {
          expect(listMoves(at)).to.include(next);
          expect(seen).not.to.include(next);
          seen.push(next);
        }
        const isOneWay = seen.at(-1) === to || stepTowards(from, to) === from;
        expect(isOneWay, seen.join(' ')).to.equal(true);
      }),
    );
  });
});
