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
    let health = { databaseBytes: 100, alarms: [] as readonly string[] };
    const store = { health: async () => health };
    const monitor = new StoreMonitor({ store, clock: new ManualClock(), log, metrics, quotaBytes: 1_000 });

    expect(monitor.report).to.equal(undefined);
    await monitor.look();
    expect(monitor.report).to.deep.equal({
      databaseBytes: 100,
      alarms: [],
      quotaBytes: 1_000,
      nearsQuota: false,
    });
    health = { databaseBytes: 900, alarms: [] };
    await monitor.look();
    await monitor.look();
    expect(monitor.report).to.have.property('nearsQuota', true);
    health = { databaseBytes: 1_000, alarms: ['NOSPACE'] };
    await monitor.look();
    expect(await metrics.text())
      .to.contain('mooring_store_alarms 1')
      .and.contain('mooring_store_database_bytes 1000');
    health = { databaseBytes: 50, alarms: [] };
    await monitor.look();
    expect(lines).to.deep.equal([
      'warn: etcd nears its quota',
      'error: etcd has raised an alarm',
      'info: etcd has space again',
    ]);
  });
});
