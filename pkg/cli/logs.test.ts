import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { FakeApi, replyRefused, type TestTerminal, createTestTerminal } from './fake-api.testing.js';
import type { run as Run } from './run.js';

const LOGS = 'GET /api/v1/deployments/web/logs';
const ONE = 'GET /api/v1/deployments/web';

const deployment = (...replicas: readonly number[]) => ({
  status: 200,
  body: { name: 'web', status: { placements: replicas.map(replica => ({ replica, nodeId: 'node_1' })) } },
});

describe('moor logs', () => {
  let api: FakeApi;
  let folder: string;
  let run: typeof Run;

  // Loaded as the commands are: see run.test.ts.
  before(async () => {
    ({ run } = await import('./run.js'));
  });

  beforeEach(async () => {
    api = await FakeApi.start();
    folder = mkdtempSync(join(tmpdir(), 'moor-logs-'));
  });

  afterEach(async () => {
    await api.stop();
    rmSync(folder, { recursive: true });
  });

  const createLogTerminal = (more: Partial<TestTerminal> = {}) =>
    createTestTerminal(
      { MOORING_SERVER: api.address, MOORING_TOKEN: 'mtk_t', HOME: folder, MOORING_HOME: folder },
      more,
    );
  const moor = async (...words: readonly string[]) => {
    const terminal = createLogTerminal();
    return { code: await run(words, terminal), ...terminal.printed };
  };

  it('prints the output of one replica unchanged', async () => {
    api.replies.set(ONE, deployment(0, 1));
    api.replies.set(`${LOGS}?tail=5&replica=1`, { lines: ['hello\nwor', 'ld'] });

    expect((await moor('logs', 'web', '--tail', '5', '--replica', '1')).out).to.equal('hello\nworld\n');
  });

  it('does not let the output of a container control a terminal', async () => {
    api.replies.set(ONE, deployment(0));
    api.replies.set(`${LOGS}?replica=0`, { lines: ['a\u001b]0;title\u0007\tb\u009b2Jc\n'] });
    const terminal = createLogTerminal({ width: 80 });
    await run(['logs', 'web'], terminal);

    expect(terminal.printed.out).to.equal('a ]0;title \tb 2Jc\n');
  });

  it('prints every replica, each line with the name of its replica', async () => {
    api.replies.set(ONE, deployment(0, 2));
    api.replies.set(`${LOGS}?replica=0`, { lines: ['hello\n', 'world\n'] });
    api.replies.set(`${LOGS}?replica=2`, { lines: ['hi\n'] });

    const { code, out } = await moor('logs', 'web');

    expect([code, out]).to.deep.equal([0, 'web-0 | hello\nweb-0 | world\nweb-2 | hi\n']);
  });

  it('prints the other replicas when one is unavailable', async () => {
    api.replies.set(ONE, deployment(0, 1));
    api.replies.set(`${LOGS}?replica=0`, replyRefused(503, 'logs_unavailable'));
    api.replies.set(`${LOGS}?replica=1`, { lines: ['hi\n'] });

    const { code, out, err } = await moor('logs', 'web');

    expect([code, out]).to.deep.equal([4, 'web-1 | hi\n']);
    expect(err).to.contain('logs_unavailable');
  });

  it('prints nothing when no replica has a node, and exits with 3 for an unknown deployment', async () => {
    api.replies.set(ONE, deployment());

    expect(await moor('logs', 'web')).to.deep.include({ code: 0, out: '' });
    expect((await moor('logs', 'absent')).code).to.equal(3);
  });

  it('keeps following across lost connections and an unready server, and prints no line twice', async () => {
    let asked = 0;
    api.replies.set(ONE, () => (asked < 5 ? deployment(0) : replyRefused(404, 'deployment_not_found')));
    api.replies.set(`${LOGS}?follow=true&replica=0`, () => {
      asked++;
      return { lines: ['a\nb\n', 'half a li'], cut: true };
    });
    api.replies.set(`${LOGS}?follow=true&tail=1000&replica=0`, () => {
      asked++;
      if (asked === 2) return replyRefused(503, 'store_unavailable');
      if (asked === 3) return replyRefused(404, 'resource_not_found'); // on its way to another node
      return asked === 4 ? { lines: ['a\n'], cut: true } : { lines: ['a\nb\nhalf a line\nc\n'] };
    });

    expect(await moor('logs', 'web', '--follow')).to.deep.include({ code: 0, out: 'a\nb\nhalf a line\nc\n' });
  });

  it('prints the rejection and exits with 6 when its token is revoked meanwhile', async () => {
    let asked = 0;
    const once =
      <T>(first: T) =>
      () =>
        asked++ < 2 ? first : replyRefused(401, 'token_invalid');
    api.replies.set(ONE, once(deployment(0)));
    api.replies.set(`${LOGS}?follow=true&replica=0`, once({ lines: ['a\n'] }));
    api.replies.set(`${LOGS}?follow=true&tail=1000&replica=0`, replyRefused(401, 'token_invalid'));

    const { code, err } = await moor('logs', 'web', '--follow');

    expect(code).to.equal(6);
    expect(err).to.contain('token_invalid');
  });

  it('exits with 4 when the server was never reached', async () => {
    expect((await moor('--server', 'http://127.0.0.1:1', 'logs', 'web', '--follow')).code).to.equal(4);
  });

  describe('--controllers', () => {
    const line = (more: Record<string, string>) =>
      `${JSON.stringify({ time: '2026-01-01T00:00:01.500Z', level: 'info', ...more })}\n`;
    let path: string;

    beforeEach(() => {
      mkdirSync(join(folder, 'logs'));
      path = join(folder, 'logs', 'controllers.log');
      writeFileSync(
        path,
        `${line({ loop: 'scheduler', message: 'placed', node: 'n1' })}${line({ loop: 'other' })}not json\n`,
      );
    });

    it('prints the log of one loop', async () => {
      expect((await moor('logs', '--controllers', 'scheduler', '--no-follow')).out).to.equal(
        '00:00:01.500 info  placed node=n1\n',
      );
    });

    it('follows the log by default', async () => {
      const stop = new AbortController();
      const terminal = createLogTerminal({ interrupted: stop.signal });
      const following = run(['logs', '--controllers', 'scheduler'], terminal);
      const printed = (text: string) => until(`${text} to be printed`, () => terminal.printed.out.includes(text));

      await printed('placed');
      appendFileSync(path, line({ loop: 'scheduler', message: 'replaced' }));
      await printed('replaced');
      stop.abort();

      expect(await following).to.equal(0);
    });
  });
});
