import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { type Logger, silentLogger } from '../log/index.js';
import { createMetrics } from '../metrics/index.js';
import { judgeRoom, StoreMonitor } from './store-monitor.js';

describe('monitor of the store', () => {
  it('shows the size and the alarms in the report and in metrics, and warns once before the quota', async () => {
    const lines: string[] = [];
    const note = (level: string) => (message: string) => void lines.push(`${level}: ${message.split(/[:;]/)[0]}`);
    const log: Logger = { ...silentLogger, error: note('error'), warn: note('warn'), info: note('info') };
    const metrics = createMetrics({ processMetrics: false });
    let health = { databaseBytes: 100, usedBytes: 60, alarms: [] as readonly string[] };
    const store = { health: async () => health };
    const monitor = new StoreMonitor({ store, clock: new ManualClock(), log, metrics, quotaBytes: 1_000 });

    expect(monitor.report).to.equal(undefined);
    await monitor.look();
    expect(monitor.report).to.deep.equal({
      databaseBytes: 100,
      usedBytes: 60,
      alarms: [],
      quotaBytes: 1_000,
      nearsQuota: false,
      isReserved: false,
    });
    health = { databaseBytes: 999, usedBytes: 749, alarms: [] };
    await monitor.look();
    await monitor.look();
    expect(monitor.report).to.include({ nearsQuota: true, isReserved: false });
    health = { databaseBytes: 950, usedBytes: 750, alarms: [] };
    await monitor.look();
    expect(monitor.report).to.include({ nearsQuota: true, isReserved: true });
    health = { databaseBytes: 1_000, usedBytes: 1_000, alarms: ['NOSPACE'] };
    await monitor.look();
    expect(await metrics.text())
      .to.contain('mooring_store_alarms 1')
      .and.contain('mooring_store_database_bytes 1000');
    health = { databaseBytes: 50, usedBytes: 50, alarms: [] };
    await monitor.look();
    expect(lines).to.deep.equal([
      'warn: etcd nears its quota',
      'error: etcd is nearly full',
      'error: etcd has raised an alarm',
      'info: etcd has space again',
    ]);
  });

  const free = { nearsQuota: false, isReserved: false };
  const filling = { nearsQuota: true, isReserved: false };
  const reserved = { nearsQuota: true, isReserved: true };
  const cases: readonly [string, Parameters<typeof judgeRoom>, ReturnType<typeof judgeRoom>][] = [
    ['takes all below the shares', [{ databaseBytes: 949, usedBytes: 949, alarms: [] }, 1_000, false], filling],
    ['keeps the rest from them on', [{ databaseBytes: 950, usedBytes: 750, alarms: [] }, 1_000, false], reserved],
    ['stays a little longer', [{ databaseBytes: 930, usedBytes: 700, alarms: [] }, 1_000, true], reserved],
    ['ends when the file is smaller', [{ databaseBytes: 929, usedBytes: 929, alarms: [] }, 1_000, true], filling],
    ['ends when less of it is in use', [{ databaseBytes: 999, usedBytes: 699, alarms: [] }, 1_000, true], filling],
    ['keeps the rest to the last byte', [{ databaseBytes: 1_000, usedBytes: 999, alarms: [] }, 1_000, false], reserved],
    ['believes an etcd that goes on', [{ databaseBytes: 1_001, usedBytes: 999, alarms: [] }, 1_000, true], filling],
    ['believes an alarm', [{ databaseBytes: 1_001, usedBytes: 999, alarms: ['NOSPACE'] }, 1_000, false], reserved],
    ['knows no quota of 0', [{ databaseBytes: 999, usedBytes: 999, alarms: [] }, 0, false], free],
    ['knows no quota below 0', [{ databaseBytes: 999, usedBytes: 999, alarms: [] }, -1, true], free],
  ];
  for (const [title, given, found] of cases) it(title, () => expect(judgeRoom(...given)).to.deep.equal(found));

  it('remembers that room is kept', async () => {
    let databaseBytes = 0;
    const store = { health: async () => ({ databaseBytes, usedBytes: 800, alarms: [] }) };
    const metrics = createMetrics({ processMetrics: false });
    const monitor = new StoreMonitor({
      store,
      clock: new ManualClock(),
      log: silentLogger,
      metrics,
      quotaBytes: 1_000,
    });
    const seen: (boolean | undefined)[] = [];
    for (databaseBytes of [940, 950, 940, 920, 940]) {
      await monitor.look();
      seen.push(monitor.report?.isReserved);
    }
    expect(seen).to.deep.equal([false, true, true, false, false]);
  });

  it('looks often while the database fills', async () => {
    const clock = new ManualClock();
    let looks = 0;
    let databaseBytes = 100;
    const store = {
      health: async () => {
        looks++;
        return { databaseBytes, usedBytes: 100, alarms: [] };
      },
    };
    const metrics = createMetrics({ processMetrics: false });
    const monitor = new StoreMonitor({ store, clock, log: silentLogger, metrics, quotaBytes: 1_000 });
    const stop = new AbortController();
    const running = monitor.run(stop.signal);
    await clock.pass(60_000);
    expect(looks).to.be.within(3, 6);
    databaseBytes = 900;
    await clock.pass(60_000);
    expect(looks).to.be.greaterThan(40);
    stop.abort();
    await clock.pass(60_000);
    await running;
  });
});
