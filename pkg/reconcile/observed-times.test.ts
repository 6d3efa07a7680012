import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { ObservedTimes } from './observed-times.js';

describe('observed times', () => {
  const fence = { key: 'leaders/l', created: 1 } as never;
  const setUp = () => {
    const clock = new ManualClock();
    const times = new ObservedTimes();
    return {
      clock,
      measure: (marks: Record<string, string | undefined>, term = fence) =>
        times.measure('k', marks, { clock, fence: term }),
    };
  };

  it('count a state from when it was first seen, whatever its mark says of the time', async () => {
    const { clock, measure } = setUp();
    expect(measure({ lost: '2020-01-01T00:00:00.000Z' })).to.deep.equal({ lost: 0 });
    await clock.pass(1_000);
    expect(measure({ lost: '2020-01-01T00:00:00.000Z' })).to.deep.equal({ lost: 1_000 });
  });

  it('count a state with another mark anew, and no other', async () => {
    const { clock, measure } = setUp();
    measure({ lost: 'a', moved: 'a' });
    await clock.pass(1_000);
    expect(measure({ lost: 'b', moved: 'a' })).to.deep.equal({ lost: 0, moved: 1_000 });
  });

  it('forget a state that did not hold once', async () => {
    const { clock, measure } = setUp();
    measure({ lost: 'a' });
    await clock.pass(1_000);
    expect(measure({ lost: undefined })).to.deep.equal({ lost: 0 });
    expect(measure({ lost: 'a' })).to.deep.equal({ lost: 0 });
  });

  it('begin anew with another term', async () => {
    const { clock, measure } = setUp();
    measure({ lost: 'a' });
    await clock.pass(1_000);
    expect(measure({ lost: 'a' }, { key: 'leaders/l', created: 2 } as never)).to.deep.equal({ lost: 0 });
  });
});
