import { expect } from 'chai';

import { type Clock, systemClock, systemRandom } from '../../clock/index.js';
import { type Logger, silentLogger } from '../../log/index.js';
import { encode } from '../documents.js';
import { Leadership } from '../leadership.js';
import type { Guard, Store } from '../store.js';
import { PausableClock, RecordingWatch } from '../store.testing.js';
import { EtcdLab } from './etcd-lab.testing.js';

interface Tenure {
  fence?: Guard;
  upAt?: number;
  downAt?: number;
  readonly stop: () => Promise<void>;
}

interface CampaignOptions {
  readonly clock?: Clock;
  readonly ttlSeconds?: number;
  readonly log?: Logger;
}

function campaign(
  store: Store,
  holder: string,
  { clock = systemClock, ttlSeconds = 3, log = silentLogger }: CampaignOptions = {},
): Tenure {
  const stop = new AbortController();
  const leadership = new Leadership({
    store,
    clock,
    random: systemRandom,
    name: 'scheduler',
    holder,
    ttlSeconds,
    log,
  });
  const running = leadership.run(stop.signal, async (fence, lost) => {
    tenure.fence ??= fence;
    tenure.upAt ??= performance.now();
    await new Promise<void>(resolve => lost.addEventListener('abort', () => resolve(), { once: true }));
    tenure.downAt ??= performance.now();
  });
  const tenure: Tenure = {
    stop: () => {
      stop.abort();
      return running;
    },
  };
  return tenure;
}

/* With leaders that hold on for two leases, as etcd3's do, the first test was seen to fail; with those that give up at the first keep-alive that fails, the last. */
describe('leadership on etcd through faults', () => {
  let lab: EtcdLab;

  before(async () => {
    lab = await EtcdLab.start();
  });
  after(() => lab.stop());

  it('never has two leaders when the packets of the leader are dropped', async () => {
    const watch = new RecordingWatch();
    const [reached, cut] = [lab.direct(), lab.proxied({ callDeadlineMs: 500, settleWithinMs: 500 })];
    const a = campaign(cut, 'a');
    await watch.until(() => a.upAt !== undefined);
    const b = campaign(reached, 'b');
    await watch.until(() => performance.now() - a.upAt! > 1_500); // lives on keep-alives already
    lab.proxy.mode = 'blackhole';
    await watch.until(() => b.upAt !== undefined);

    expect(a.downAt).to.be.lessThan(b.upAt!);
    const change = { guards: [{ key: 'x', at: 0 }, a.fence!], puts: [{ key: 'x', bytes: encode('a') }], deletes: [] };
    expect(await reached.commit(change)).to.deep.equal({ stored: false });
    await Promise.all([a.stop(), b.stop()]);
  });

  it('stops a leader by its fence whose lease ended while it was paused', async () => {
    const watch = new RecordingWatch();
    const clock = new PausableClock(systemClock);
    const [paused, other] = [lab.direct({ clock }), lab.direct()];
    const a = campaign(paused, 'a', { clock });
    await watch.until(() => a.upAt !== undefined);
    const b = campaign(other, 'b');
    await watch.until(() => performance.now() - a.upAt! > 1_500);
    clock.paused = true;
    await watch.until(() => b.upAt !== undefined);

    expect(a.downAt).to.equal(undefined); // it cannot know yet
    const change = { guards: [{ key: 'y', at: 0 }, a.fence!], puts: [{ key: 'y', bytes: encode('a') }], deletes: [] };
    expect(await other.commit(change)).to.deep.equal({ stored: false });
    clock.resume();
    await watch.until(() => a.downAt !== undefined);
    await Promise.all([a.stop(), b.stop()]);
  });

  it('keeps its leader through a short restart of etcd', async () => {
    await lab.settle();
    const ttlSeconds = 12; // on a busy machine etcd takes some seconds to come back
    const a = campaign(lab.direct({ callDeadlineMs: 500 }), 'a', { ttlSeconds });
    const watch = new RecordingWatch();
    await watch.until(() => a.upAt !== undefined);
    await lab.etcd.kill('SIGKILL');
    await lab.etcd.restart();
    await watch.until(() => performance.now() - a.upAt! > ttlSeconds * 1_000, ttlSeconds * 2_000);

    expect(a.downAt).to.equal(undefined);
    await a.stop();
  });

  it('keeps its leader when one exchange is silent on an open connection', async () => {
    await lab.settle();
    const ttlSeconds = 9;
    const warnings: string[] = [];
    const log: Logger = { ...silentLogger, with: () => log, warn: message => void warnings.push(message) };
    const a = campaign(lab.proxied({ callDeadlineMs: 500 }), 'a', { ttlSeconds, log });
    const watch = new RecordingWatch();
    await watch.until(() => a.upAt !== undefined);
    const silentAt = performance.now();
    lab.proxy.mode = 'blackhole';
    await watch.until(() => warnings.includes('a lease could not be extended'));
    lab.proxy.forget(); // what was open stays silent: the client has to find out by itself
    lab.proxy.mode = 'pass';
    await watch.until(() => performance.now() - silentAt > ttlSeconds * 1_000); // longer than it may lead without an answer

    expect(a.downAt).to.equal(undefined);
    await a.stop();
  });
});
