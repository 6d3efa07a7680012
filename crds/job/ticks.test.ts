import { expect } from 'chai';
import fc from 'fast-check';

import { isDnsLabel } from '../grammar/index.js';
import { formatRunName, parseSchedule } from './index.js';
import { SCHEDULED_NAME_MAX } from './ticks.js';

const at = (text: string) => Date.parse(`${text}:00Z`);
const show = (tick: number | undefined) => tick && new Date(tick).toISOString().slice(0, 16);

describe('the ticks of a schedule', () => {
  const cases: readonly [title: string, schedule: string, zone: string, after: string, ticks: readonly string[]][] = [
    ['every quarter', '*/15 * * * *', 'UTC', '2026-11-16T06:15', ['2026-11-16T06:30', '2026-11-16T06:45']],
    ['a word', '@daily', 'UTC', '2026-11-16T06:15', ['2026-11-17T00:00']],
    ['in a zone', '0 3 * * *', 'Europe/Berlin', '2026-11-16T06:15', ['2026-11-17T02:00']],
    ['day of month or of week', '0 0 13 * FRI', 'UTC', '2026-11-10T00:00', ['2026-11-13T00:00', '2026-11-20T00:00']],
    ['the leap day', '0 0 29 2 *', 'UTC', '2026-11-16T00:00', ['2028-02-29T00:00']],
    [
      'an hour that is left out: right after it',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00',
      ['2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      'an hour that comes twice: once',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'an hour that comes twice, of a schedule of every hour: twice',
      '0 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:30',
      ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
    ],
  ];
  for (const [title, schedule, zone, after, expected] of cases) {
    it(`come as cron has them: ${title}`, () => {
      const ticks = parseSchedule(schedule, zone)!;
      let last: number | undefined = at(after);
      const found = expected.map(() => show((last = ticks.findNext(last!))));
      expect(found).to.deep.equal(expected);
    });
  }

  it('are none of what is no schedule, and of what is no zone', () => {
    expect(parseSchedule('nonsense', 'UTC')).to.equal(undefined);
    expect(parseSchedule('@daily', 'Mars/Olympus')).to.equal(undefined);
    expect(parseSchedule('', '')).to.equal(undefined);
  });

  it('property: the last one before the next is the next, also across the ends of daylight saving', () => {
    const schedules = fc.constantFrom('30 2 * * *', '*/15 * * * *', '15 1-3 * * *', '0 0 1 * 1', '*/7 2 * * *');
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata');
    const times = fc.integer({ min: at('2026-01-01T00:00'), max: at('2027-12-31T00:00') });
    fc.assert(
      fc.property(schedules, zones, times, (schedule, zone, time) => {
        const { findNext, findLast } = parseSchedule(schedule, zone)!;
        const next = findNext(time)!;
        expect(next).to.be.greaterThan(time);
        expect(next % 60_000).to.equal(0);
        expect([findLast(next), findLast(next + 59_999)]).to.deep.equal([next, next]);
        expect(findLast(next - 1)).to.be.lessThan(next);
      }),
      { numRuns: 200 },
    );
  });

  it('name runs that are valid jobs, each tick another', () => {
    const name = 'a'.repeat(SCHEDULED_NAME_MAX);
    const tick = at('2026-11-16T06:15');
    expect(formatRunName('nightly', tick)).to.equal('nightly-29913495');
    expect(isDnsLabel(formatRunName(name, at('9999-01-01T00:00')))).to.equal(true);
    expect(formatRunName(name, tick)).to.not.equal(formatRunName(name, tick + 60_000));
  });
});
