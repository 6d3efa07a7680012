import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { StoreRefusedFault, StoreUnavailableFault } from './faults.js';
import { retryUntilReachable } from './open-etcd-store.js';

describe('untilReachable', () => {
  const clock = new ManualClock();
  const env = { clock, log: silentLogger };
  const failing = (thrown: Error, times: number) => {
    let left = times;
    return async () => {
      if (left-- > 0) throw thrown;
      return 'done';
    };
  };

  it('retries while the store cannot be reached', async () => {
    const coming = retryUntilReachable(
      failing(new StoreUnavailableFault('away'), 3),
      env,
      new AbortController().signal,
    );
    await clock.pass(3_000);
    expect(await coming).to.equal('done');
  });

  it('does not retry a permanent fault', async () => {
    const refused = new StoreRefusedFault('no');
    const thrown: unknown = await retryUntilReachable(failing(refused, 1), env, new AbortController().signal).catch(
      (fault: unknown) => fault,
    );
    expect(thrown).to.equal(refused);
  });

  it('stops when it is aborted', async () => {
    const stop = new AbortController();
    const coming = retryUntilReachable(failing(new StoreUnavailableFault('away'), 1_000), env, stop.signal);
    await clock.pass(2_000);
    stop.abort();
    expect(await coming).to.equal(undefined);
  });
});
