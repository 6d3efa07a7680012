import { expect } from 'chai';
import fc from 'fast-check';

import {
  noVersions,
  toSecretState,
  findSurplus,
  type Versions,
  setCurrent,
  addVersion,
  removeVersion,
} from './versions.js';

const steps = fc.array(
  fc.oneof(
    fc.constantFrom({ do: 'current' as const }, { do: 'pending' as const }),
    fc.record({ do: fc.constantFrom('promote' as const, 'destroy' as const), which: fc.nat() }),
  ),
  { maxLength: 30 },
);

const after = (versions: Versions, step: { do: string; which?: number }): Versions => {
  if (step.do === 'current' || step.do === 'pending') return addVersion(versions, step.do);
  const version = versions.live[step.which! % Math.max(1, versions.live.length)];
  if (version === undefined) return versions;
  return step.do === 'promote' ? setCurrent(versions, version) : removeVersion(versions, version);
};

describe('versions', () => {
  it('change the current one only by a write, a promotion or its destruction', () => {
    fc.assert(
      fc.property(steps, taken => {
        let versions = noVersions;
        for (const step of taken) {
          const before = toSecretState(versions).current;
          const target = versions.live[(step as { which?: number }).which! % Math.max(1, versions.live.length)];
          versions = after(versions, step);
          const { current } = toSecretState(versions);
          if (step.do === 'current') expect(current).to.equal(versions.last);
          else if (step.do === 'promote' && target !== undefined) expect(current).to.equal(target);
          else if (step.do === 'pending' || before !== target) expect(current).to.equal(before);
        }
      }),
    );
  });

  it('never decrease, and list readable versions only', () => {
    fc.assert(
      fc.property(steps, taken => {
        let versions = noVersions;
        for (const step of taken) {
          const next = after(versions, step);
          expect(next.last).to.be.at.least(versions.last);
          versions = next;
          const { current, pending, previous } = toSecretState(versions);
          for (const named of [current, pending, previous])
            if (named !== undefined) expect(versions.live).to.include(named);
          for (const old of findSurplus(versions, 3)) expect([current, pending, previous]).not.to.include(old);
        }
      }),
    );
  });

  it('are pinned only while the current one is not the highest', () => {
    const staged = addVersion(addVersion(noVersions, 'current'), 'pending');
    expect(staged).to.deep.equal({ last: 2, live: [1, 2], pin: 1 });
    expect(setCurrent(staged, 2)).to.deep.equal({ last: 2, live: [1, 2] });
    expect(removeVersion(staged, 2)).to.deep.equal({ last: 2, live: [1] });
  });
});
