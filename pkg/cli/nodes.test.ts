import { expect } from 'chai';

import { type Clock, systemClock } from '../clock/index.js';
import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';
import type { TestTerminal } from '../terminal/terminal.testing.js';

const WATCH = 'GET /api/v1/nodes?watch=true';

const node = (status: string, reason: string, generation = 2, id = 'node_1') => ({
  id,
  name: 'n1',
  status,
  schedulable: { value: false, reason },
  metadata: { generation },
});
const shown = (object: object, type = 'modified') => ({ type, cursor: '2', object });
const bookmark = { type: 'bookmark', cursor: '1' };
const draining = node('draining', 'draining');

describe('moor nodes', () => {
  const lab = useCommandLab();

  beforeEach(() => {
    lab.api.replies.set('POST /api/v1/nodes/n1/drain', { status: 200, body: draining });
  });

  const moor = (...words: readonly string[]) => lab.moor(['nodes', ...words]);
  const asked = () => lab.api.got.map(({ method, path }) => `${method} ${path}`);

  for (const order of ['drain', 'undrain', 'fence']) {
    it(`${order} sends the request and does not wait`, async () => {
      lab.api.replies.set(`POST /api/v1/nodes/n1/${order}`, { status: 200, body: node('ready', 'ready') });
      const { code, out } = await moor(order, 'n1');

      expect(code).to.equal(0);
      expect(out).to.match(/^node\/n1 .+\n$/);
      expect(asked()).to.deep.equal([`POST /api/v1/nodes/n1/${order}`]);
    });
  }

  it('are described with the removed volumes that are still on their disk', async () => {
    const known = { cpu: 1000, memory: 2 ** 30, disk: 2 ** 30 };
    const until = '2030-01-02T00:00:00.000Z';
    const volumes = [
      { name: 'vol_1.1', volume: 'data', bytes: 2 ** 27, until },
      { name: 'vol_2.1', bytes: 0, until },
    ];
    const described = { ...node('ready', 'ready'), labels: {}, capacity: known, free: known, agent: { version: '1' } };
    const body = { ...described, removedVolumes: { volumes, more: 2 } };
    lab.api.replies.set('GET /api/v1/nodes/n1', { status: 200, body });
    lab.api.replies.set('GET /api/v1/nodes/n1/replicas', { status: 200, body: { items: [], lastReportAt: null } });
    lab.api.replies.set('GET /api/v1/events&subject=node_1', { status: 200, body: { items: [] } });
    const { out } = await lab.moor(['describe', 'node', 'n1']);
    expect(out).to.match(
      /^Removed volumes that are still on its disk \(and 2 more\):\n +NAME +VOLUME +SIZE +KEPT UNTIL$/m,
    );
    expect(out).to.match(/^ +vol_1\.1 +data +128MiB +2030-01-02T00:00:00\.000Z$/m);
    expect(out).to.match(/^ +vol_2\.1 +- /m);
  });

  it('are deleted, with force also those that have volumes', async () => {
    const path = '/api/v1/nodes/n1';
    lab.api.replies.set(`DELETE ${path}`, replyRefused(409, 'node_has_volumes'));
    expect((await lab.moor(['delete', 'node', 'n1'])).err).to.contain('node_has_volumes');
    lab.api.replies.set(`DELETE ${path}?force=true`, { status: 200, body: { name: 'n1', claims: [] } });
    expect(await lab.moor(['delete', 'node', 'n1', '--force'])).to.include({ code: 0, out: 'node/n1 deleted\n' });
    expect((await lab.moor(['delete', 'deployment', 'web', '--force'])).code).to.equal(2);
  });

  const outdated = shown(node('ready', 'ready', 1), 'added');
  const table: readonly (readonly [string, readonly object[], number])[] = [
    ['until it is empty', [shown(draining, 'added'), bookmark, shown(node('draining', 'drained'))], 0],
    ['not at all for one that is empty', [shown(node('draining', 'drained'), 'added'), bookmark], 0],
    ['through news from before the order', [outdated, bookmark, shown(node('draining', 'drained'))], 0],
    ['for the node itself, not for others', [shown(node('ready', 'ready', 9, 'node_2')), shown(draining), bookmark], 5],
    ['in vain when it is used again', [shown(draining, 'added'), bookmark, shown(node('ready', 'ready', 3))], 1],
    ['in vain when it fails', [shown(draining, 'added'), bookmark, shown(node('failed', 'failed'))], 1],
    ['in vain when it goes', [shown(draining, 'added'), bookmark, shown(draining, 'deleted')], 1],
    ['in vain when it is gone', [bookmark], 1],
  ];
  for (const [title, lines, code] of table) {
    it(`drain --wait waits ${title}`, async () => {
      lab.api.replies.set(WATCH, { lines });
      const answer = await moor('drain', 'n1', '--wait', '--timeout', code === 5 ? '300ms' : '10m');

      expect(answer.code).to.equal(code);
      expect(answer.out.endsWith('node/n1 drained\n')).to.equal(code === 0);
      expect(answer.err === '').to.equal(code === 0);
    });
  }

  describe('drain --wait says what is left', () => {
    const hurried: Clock = { ...systemClock, after: (ms, then) => systemClock.after(ms <= 2_000 ? 5 : ms, then) };
    const item = { deployment: 'web', replica: 0, state: 'run\u001bning', retiringSince: '2026-01-01T00:00:00Z' };
    const items = [item, { ...item, replica: 1, retiringSince: null }];
    const move = { phase: 'Syncing', message: '5 MB' };
    const volume = { name: 'data', class: 'replicated', primaryNode: 'node_1', move };
    /** One replica less at each look; the fourth one interrupts. */
    const drain = (more: Partial<TestTerminal>) => {
      const stop = new AbortController();
      let looks = 0;
      lab.api.replies.set('GET /api/v1/nodes/node_1/replicas', () => {
        looks++;
        if (looks === 4) stop.abort();
        return { status: 200, body: { items: items.slice(looks - 1) } };
      });
      const known = [volume, { ...volume, class: 'ephemeral' }, { ...volume, primaryNode: 'node_2' }];
      lab.api.replies.set('GET /api/v1/dvm/volumes', { status: 200, body: { items: known, revision: '1' } });
      lab.api.replies.set(WATCH, { lines: [shown(draining, 'added'), bookmark] });
      return lab.moor(['nodes', 'drain', 'n1', '--wait'], { clock: hurried, interrupted: stop.signal, ...more });
    };

    it('with the cause, when it takes too long', async () => {
      const items = [{ ...volume, move: { phase: 'Blocked', message: 'it is Degraded: mount failed' } }];
      lab.api.replies.set('GET /api/v1/nodes/node_1/replicas', { status: 200, body: { items: [] } });
      lab.api.replies.set('GET /api/v1/dvm/volumes', { status: 200, body: { items, revision: '1' } });
      lab.api.replies.set(WATCH, { lines: [shown(draining, 'added'), bookmark] });
      const { code, err } = await moor('drain', 'n1', '--wait', '--timeout', '300ms');
      expect(code).to.equal(5);
      expect(err).to.equal(
        'node/n1 still has 1 volume; the drain continues\n  volume data  Blocked: it is Degraded: mount failed\n',
      );
    });

    it('in a pipe by a line at each change', async () => {
      const { code, out, err } = await drain({});
      expect(err.split('\n')).to.deep.equal([
        'node/n1 still has 2 replicas and 1 volume',
        'node/n1 still has 1 replica and 1 volume',
        'node/n1 still has 1 volume',
        '',
      ]);
      expect([code, out]).to.deep.equal([130, 'node/n1 draining\n']);
    });

    it('on a terminal in one place, with what they are', async () => {
      const drawn: (readonly string[])[] = [];
      const { code, err } = await drain({ live: { draw: lines => void drawn.push(lines) } });
      expect(drawn[0]).to.deep.equal([
        'node/n1 still has 2 replicas and 1 volume',
        '  web/0  run ning, on its way out',
        '  web/1  run ning',
        '  volume data  Syncing: 5 MB',
      ]);
      expect([code, err, drawn.at(-1)]).to.deep.equal([130, '', []]);
    });
  });

  it('prints the rejection of the server', async () => {
    lab.api.replies.set('POST /api/v1/nodes/n1/fence', replyRefused(409, 'node_is_control_plane'));
    const { code, err } = await moor('fence', 'n1');

    expect(code).to.equal(1);
    expect(err).to.contain('node_is_control_plane');
  });
});
