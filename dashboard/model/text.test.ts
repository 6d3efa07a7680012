import { expect } from 'chai';

import { assertLinearCost } from '../../dev/testing/index.js';
import { type DeploymentRow, describeHeldOrder, filterRows, holdOrder, sortRows } from './deployment-list.js';
import { toPlace } from './places.js';
import { formatAgo, formatMoment, showControls, splitCommands } from './text.js';

const NOW = Date.parse('2026-01-31T12:00:00Z');

describe('times', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['2026-01-31T12:00:00Z', 'now'],
    ['2026-01-31T11:59:18Z', '42s ago'],
    ['2026-01-31T11:00:01Z', '59m ago'],
    ['2026-01-31T02:00:00Z', '10h ago'],
    ['2026-01-01T12:00:00Z', '30d ago'],
    ['2026-01-31T12:00:10Z', 'in 10s'],
    ['<script>', '-'],
  ];
  for (const [at, text] of cases) it(`shows ${at} as ${text}`, () => expect(formatAgo(at, NOW)).to.equal(text));

  it('are shown in full with UTC, and what is no time as it is', () => {
    expect(formatMoment('2026-01-31T12:00:00Z')).to.include('2026-01-31T12:00:00.000Z');
    expect(formatMoment('never')).to.equal('never');
  });
});

describe('a remedy', () => {
  it('has its commands apart', () => {
    expect(splitCommands('Look: "moor logs web" says "why".')).to.deep.equal([
      { text: 'Look: ', isCommand: false },
      { text: 'moor logs web', isCommand: true },
      { text: ' says "why".', isCommand: false },
    ]);
    expect(splitCommands('')).to.deep.equal([]);
  });

  it('is split in time that grows with its length', () =>
    // No more: of tens of thousands of pieces the collector takes more for each than of few.
    assertLinearCost({ size: 4_000, prepare: size => '"moor '.repeat(size), run: splitCommands }));
});

describe('text of others', () => {
  it('shows what would not be seen, or would turn the rest around', () => {
    expect(showControls('a\u202eb\u0000c\u200bd\tе\n')).to.equal('a\ufffdb\ufffdc\ufffdd\tе\n');
  });
});

describe('places', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['', { page: 'overview' }],
    ['#/', { page: 'overview' }],
    ['#/deployments', { page: 'deployments' }],
    ['#/deployments/', { page: 'deployments' }],
    ['#/deployments/web', { page: 'deployment', name: 'web' }],
    ['#/deployments/%3Cb%3E', { page: 'deployment', name: '<b>' }],
    ['#/deployments/web/edit', { page: 'edit', name: 'web' }],
    ['#/new', { page: 'new' }],
    ['#/volumes', { page: 'volumes' }],
    ['#/deployments/%', { page: 'deployment', name: '%' }],
    ['#/nodes/a', { page: 'node', name: 'a' }],
    ['#/events', { page: 'events' }],
    ['#/constructor', { page: 'overview' }],
    ['#/elsewhere/a', { page: 'overview' }],
  ];
  for (const [hash, place] of cases) it(`reads "${hash}"`, () => expect(toPlace(hash)).to.deep.equal(place));
});

describe('the list of deployments', () => {
  const row = (name: string, more: Partial<DeploymentRow> = {}): DeploymentRow => ({
    name,
    phase: 'Running',
    message: '',
    ready: 1,
    wanted: 1,
    image: 'x',
    restarts: 0,
    createdAt: '2026-01-31T12:00:00Z',
    ...more,
  });
  const rows = [row('b'), row('a', { phase: 'Failed', restarts: 2 }), row('c', { ready: 0, message: 'no NODE' })];
  const names = (given: readonly DeploymentRow[]) => given.map(({ name }) => name).join('');

  it('has the worst first, and equals by name', () => {
    expect(names(sortRows(rows, { column: 'phase', isDescending: false }))).to.equal('abc');
    expect(names(sortRows(rows, { column: 'phase', isDescending: true }))).to.equal('bca');
    expect(names(sortRows(rows, { column: 'name', isDescending: true }))).to.equal('cba');
    expect(names(sortRows(rows, { column: 'ready', isDescending: false }))).to.equal('cab');
    expect(names(sortRows(rows, { column: 'restarts', isDescending: false }))).to.equal('abc');
  });

  it('keeps its order while what it says changes: what is gone leaves', () => {
    const sorted = sortRows(rows, { column: 'phase', isDescending: false });
    expect(names(holdOrder(undefined, sorted))).to.equal('abc');
    expect(names(holdOrder(['c', 'gone', 'b', 'a'], sorted))).to.equal('cba');
    expect(holdOrder(['c', 'b', 'a'], sorted)[0]).to.equal(sorted[2]);
  });

  const added: readonly [phase: string, found: string][] = [
    ['Failed', 'nab'],
    ['Degraded', 'nab'],
    ['Waiting', 'nab'],
    ['Pending', 'nab'],
    ['Unlisted', 'nab'],
    ['Running', 'abn'],
    ['Stopped', 'abn'],
  ];
  for (const [phase, found] of added)
    it(`puts what is new and ${phase} ${found.startsWith('n') ? 'first' : 'last'}`, () =>
      expect(names(holdOrder(['a', 'b'], [row('a'), row('b'), row('n', { phase })]))).to.equal(found));

  const beyond: readonly [phases: readonly string[], shown: number, hidden: number, text: string][] = [
    [['Failed', 'Running', 'Stopped'], 1, 0, 'Sort again: something has changed'],
    [['Running', 'Degraded'], 2, 0, 'Sort again: something has changed'],
    [['Running', 'Degraded'], 1, 1, '1 that is not running is not shown: sort again'],
    [['Failed', 'Running', 'Failed', 'Pending'], 1, 2, '2 that are not running are not shown: sort again'],
  ];
  for (const [phases, shown, hidden, text] of beyond)
    it(`says of ${phases.join(', ')} with ${shown} drawn: ${text}`, () => {
      const given = phases.map((phase, at) => row(String(at), { phase }));
      expect(describeHeldOrder(given, shown)).to.deep.equal({ hidden, text });
    });

  it('is filtered by all words, in any case', () => {
    expect(names(filterRows(rows, ''))).to.equal('bac');
    expect(names(filterRows(rows, 'running node'))).to.equal('c');
    expect(names(filterRows(rows, 'failed node'))).to.equal('');
  });
});
