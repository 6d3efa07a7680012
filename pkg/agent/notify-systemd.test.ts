import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { notifySystemd } from './notify-systemd.js';

describe('what systemd is told', () => {
  const run = async (environment: NodeJS.ProcessEnv, ms: number) => {
    const clock = new ManualClock();
    const end = new AbortController();
    const told: string[] = [];
    notifySystemd(environment, clock, end.signal, word => told.push(word));
    await clock.pass(ms);
    end.abort();
    await clock.pass(ms);
    return told;
  };

  it('is that the agent has started, and three times in the time of the watchdog that it is alive, until it ends', async () => {
    const told = await run({ NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '30000000' }, 29_000);
    expect(told).to.deep.equal(['READY=1', 'WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  });

  it('is nothing of the watchdog where there is none', async () => {
    expect(await run({ NOTIFY_SOCKET: '/run/systemd/notify' }, 60_000)).to.deep.equal(['READY=1']);
  });

  it('is nothing where nobody asks', async () => {
    expect(await run({}, 60_000)).to.deep.equal([]);
  });
});
