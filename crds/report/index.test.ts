import { expect } from 'chai';

import { checkReportBatch, isReady, type Report } from './index.js';

const report: Report = {
  replica: '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10',
  deployment: 'web',
  slot: 0,
  nodeId: `node_${'1'.repeat(26)}`,
  templateHash: '0'.repeat(32),
  state: 'running',
  health: 'healthy',
  restarts: 0,
  containerId: 'f'.repeat(64),
  exitCode: 0,
  reason: 'crash_loop',
  message: 'it ended',
  at: '2026-01-31T12:00:00.000Z',
};

describe('checkReportBatch', () => {
  const cases: ReadonlyArray<{ given: Record<string, unknown>; found: string[] }> = [
    { given: {}, found: [] },
    { given: { containerId: undefined }, found: [] },
    { given: { replica: 'a/../b' }, found: ['field_invalid reports[0].replica'] },
    { given: { state: 'dancing' }, found: ['field_invalid reports[0].state'] },
    { given: { health: 'fine' }, found: ['field_invalid reports[0].health'] },
    { given: { slot: -1 }, found: ['field_invalid reports[0].slot'] },
    { given: { reason: 'Because Of This' }, found: ['field_invalid reports[0].reason'] },
    { given: { at: 'now' }, found: ['field_invalid reports[0].at'] },
    { given: { retry: { at: '2026-13-01T00:00:00Z' } }, found: ['field_invalid reports[0].retry.at'] },
    { given: { since: '2026-01-31T25:00:00Z' }, found: ['field_invalid reports[0].since'] },
    { given: { pull: { receivedBytes: 1, totalBytes: 2 } }, found: [] },
    { given: { pull: { receivedBytes: -1, totalBytes: 2 } }, found: ['field_invalid reports[0].pull.receivedBytes'] },
    { given: { environment: {} }, found: ['field_unknown reports[0].environment'] },
  ];
  for (const { given, found } of cases) {
    it(`${found.length > 0 ? 'rejects' : 'accepts'} a report with ${JSON.stringify(given)}`, () => {
      const one = Object.fromEntries(
        Object.entries({ ...report, ...given }).filter(([, value]) => value !== undefined),
      );
      const checked = checkReportBatch({ reports: [one] });
      expect(checked.ok ? [] : checked.rejections.map(({ code, field }) => `${code} ${field}`)).to.deep.equal(found);
    });
  }

  it('rejects more than 1,000 reports', () => {
    expect(checkReportBatch({ reports: Array.from({ length: 1001 }, () => report) }).ok).to.equal(false);
    expect(checkReportBatch({ reports: Array.from({ length: 1000 }, () => report) }).ok).to.equal(true);
  });
});

describe('isReady', () => {
  const readiness: ReadonlyArray<{ given: Partial<Report>; ready: boolean }> = [
    { given: {}, ready: true },
    { given: { health: 'none' }, ready: true },
    { given: { health: 'starting' }, ready: false },
    { given: { health: 'unhealthy' }, ready: false },
    { given: { state: 'exited' }, ready: false },
  ];
  for (const { given, ready } of readiness) {
    it(`is ${ready} for a report with ${JSON.stringify(given)}`, () => {
      expect(isReady({ ...report, ...given })).to.equal(ready);
    });
  }
});
