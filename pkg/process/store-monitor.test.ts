import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { type Logger, silentLogger } from '../log/index.js';
import { createMetrics } from '../metrics/index.js';
import { StoreMonitor } from './store-monitor.js';

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
    health = { databaseBytes: 874, usedBytes: 749, alarms: [] };
    await monitor.look();
    await monitor.look();
    expect(monitor.report).to.include({ nearsQuota: true, isReserved: false });
    health = { databaseBytes: 875, usedBytes: 300, alarms: [] };
    await monitor.look();
    expect(monitor.report).to.include({ nearsQuota: true, isReserved: true });
    health = { databaseBytes: 1_000, usedBytes: 1_000, alarms: ['NOSPACE'] };
    await monitor.look();
    expect(await metrics.text())
      .to.contain('mooring_store_alarms 1')
      .and.contain('mooring_store_database_bytes 1000')
      .and.contain('mooring_store_reserved 1');
    health = { databaseBytes: 50, usedBytes: 50, alarms: [] };
    await monitor.look();
    expect(lines).to.deep.equal([
      'warn: etcd nears its quota',
      'error: etcd is nearly full',
      'error: etcd has raised an alarm',
      'info: etcd has space again',
    ]);
  });

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
    for (databaseBytes of [870, 875, 826, 824, 870]) {
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
