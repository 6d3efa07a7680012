import { expect } from 'chai';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import { DeadlineKeeper } from './keeper.js';

describe('the keeper of deadlines', () => {
  let clock: ManualClock;
  let kept: string | undefined;
  let killed: (readonly string[])[];
  let remembered: (readonly string[])[];
  let writing: number;
  let end: AbortController;
  beforeEach(() => {
    clock = new ManualClock();
    [kept, killed, remembered, writing] = [undefined, [], [], 0];
    end = new AbortController();
  });
  afterEach(async () => {
    end.abort();
    await clock.pass(2_000);
  });

  const open = (stays = true) => {
    const writers = {
      remember: (folders: readonly string[]) => void remembered.push(folders),
      kill: (folders: readonly string[]) => {
        killed.push(folders);
        const count = writing;
        writing = 0;
        return count;
      },
    };
    const file = { read: () => kept, write: (text: string) => void (kept = text) };
    const env = { clock, log: silentLogger, uptimeMs: () => clock.monotonic(), writers, kept: file };
    const keeper = new DeadlineKeeper(env);
    const told = { hasEnded: false };
    void keeper.run(end.signal, stays).then(() => void (told.hasEnded = true));
    return { keeper, told };
  };
  const order = (at: number) => JSON.stringify([{ volume: 'v', folder: '/volumes/v', at }]);

  it('kills what writes once its time has passed, and what begins to write afterwards', async () => {
    const { keeper } = open();
    expect(keeper.take(order(clock.monotonic() + 5_000))).to.equal('armed');
    await clock.pass(4_900);
    expect(killed).to.deep.equal([]);
    writing = 2;
    await clock.pass(200);
    expect(killed).to.deep.equal([['/volumes/v']]);
    await clock.pass(3_000);
    expect(killed.length).to.be.greaterThan(2);
  });

  it('knows what writes before its time has passed, and looks for it now and then only', async () => {
    const { keeper } = open();
    await clock.pass(10_000);
    expect(remembered).to.deep.equal([]);
    keeper.take(order(clock.monotonic() + 60_000));
    await clock.pass(300);
    expect(remembered).to.deep.equal([['/volumes/v']]);
    await clock.pass(4_000);
    expect(remembered).to.have.length(1);
    await clock.pass(1_500);
    expect(remembered).to.have.length(2);
  });

  it('lets everything go on while it is put off, and once it is told of nothing', async () => {
    const { keeper } = open();
    for (let turn = 0; turn < 10; turn++) {
      keeper.take(order(clock.monotonic() + 5_000));
      await clock.pass(4_000);
    }
    keeper.take('[]');
    await clock.pass(20_000);
    expect(killed).to.deep.equal([]);
  });

  it('keeps what was ordered of another one before it', async () => {
    kept = order(clock.monotonic() + 5_000);
    open();
    await clock.pass(6_000);
    expect(killed.length).to.be.greaterThan(0);
  });

  it('refuses what is no order, and keeps the one before', async () => {
    const { keeper } = open();
    keeper.take(order(clock.monotonic() + 5_000));
    for (const line of [
      '',
      'null',
      '{}',
      '[1]',
      '[{"volume":"v","folder":"relative","at":1}]',
      '[{"volume":"v","folder":"/v"}]',
    ])
      expect(keeper.take(line), line).to.equal('refused');
    await clock.pass(6_000);
    expect(killed.length).to.be.greaterThan(0);
  });

  it('ends by itself when nobody needs it, and never while something may have to be killed', async () => {
    const { keeper, told } = open(false);
    keeper.take(order(clock.monotonic() + 3_600_000));
    await clock.pass(3_500_000);
    expect(told.hasEnded).to.equal(false);
    keeper.take('[]');
    await clock.pass(700_000);
    expect(told.hasEnded).to.equal(true);
    const staying = open(true);
    await clock.pass(700_000);
    expect(staying.told.hasEnded).to.equal(false);
  });
});
