import { expect } from 'chai';

import { systemClock } from '../../../pkg/clock/index.js';
import { createMetrics } from '../../../pkg/metrics/index.js';
import type { StoreReport } from '../../../pkg/process/store-monitor.js';
import type { Cache } from '../../../pkg/store/index.js';
import type { ApiCall } from '../../http/route.js';
import { createHealthRoutes } from './routes.js';

describe('health of the server', () => {
  const well: StoreReport = {
    databaseBytes: 100,
    usedBytes: 50,
    quotaBytes: 1_000,
    nearsQuota: false,
    isReserved: false,
    alarms: [],
  };

  const ask = async (report: StoreReport | undefined, connected = true) => {
    const cache = { connected, list: () => [] } as unknown as Cache;
    const routes = createHealthRoutes({
      cache,
      clock: systemClock,
      metrics: createMetrics({ processMetrics: false }),
      seats: { publish: () => undefined },
      storeReport: () => report,
    });
    const route = routes.find(({ path }) => path === '/healthz')!;
    const answer = (await route.handle({} as ApiCall)) as { readonly status: number; readonly body: Buffer };
    return { status: answer.status, body: JSON.parse(String(answer.body)) as Record<string, unknown> };
  };

  const cases: readonly [string, StoreReport | undefined, boolean, number][] = [
    ['ok while the store is well', well, true, 200],
    ['ok before the store was looked at', undefined, true, 200],
    ['ok, with a warning, when the store nears its quota', { ...well, nearsQuota: true }, true, 200],
    ['degraded while etcd has raised an alarm', { ...well, alarms: ['NOSPACE'] }, true, 503],
    ['[4.27] degraded while the watch is away', well, false, 503],
  ];
  for (const [name, report, connected, status] of cases) {
    it(`is ${name}`, async () => {
      expect(await ask(report, connected)).to.deep.equal({
        status,
        body: {
          status: status === 200 ? 'ok' : 'degraded',
          store: { connected, ...report },
          controllers: {},
        },
      });
    });
  }
});
