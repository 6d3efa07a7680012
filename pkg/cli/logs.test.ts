import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { type Clock, systemClock } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';
import { run } from './run.js';

const LOGS = 'GET /api/v1/deployments/web/logs';
const ONE = 'GET /api/v1/deployments/web';

const deployment = (...replicas: readonly number[]) => ({
  status: 200,
  body: { name: 'web', status: { placements: replicas.map(replica => ({ replica, nodeId: 'node_1' })) } },
});

const line = (text: string, stream = 'stdout', cursor: string | null = null) =>
  `${JSON.stringify({ type: 'line', cursor, replica: 0, stream, at: null, text })}\n`;
const end = (reason = 'complete') =>
  `${JSON.stringify({ type: 'end', cursor: null, reason, message: `message of ${reason}` })}\n`;

/** The waits before it looks or asks again are short, those for an answer are as long as ever. */
const hurried: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms <= 5_000 ? ms / 50 : ms, fire) };

describe('moor logs', () => {
  const lab = useCommandLab();

  const moor = (...words: readonly string[]) => lab.moor(words);

  it('prints the output of one replica unchanged, and joins the parts of a line', async () => {
    lab.api.replies.set(ONE, deployment(0, 1));
    const frames = [line('hello\nwor'), line('oh\n', 'stderr'), line('ld'), end()];
    lab.api.replies.set(`${LOGS}?tail=5&since=10m&replica=1`, { lines: frames });

    const { out } = await moor('logs', 'web', '--tail', '5', '--since', '10m', '--replica', '1');
    expect(out).to.equal('hello\noh\nworld\n');
  });

  it('of a job that ends while it is read go on with what was kept', async () => {
    const status = { history: [{ attempt: 1, state: 'Succeeded' }], attempts: 1 };
    lab.api.replies.set('GET /api/v1/jobs/seed', { status: 200, body: { name: 'seed', status } });
    const path = 'GET /api/v1/jobs/seed/logs';
    lab.api.replies.set(`${path}?follow=true&attempt=1`, {
      lines: [line('one\n', 'stdout', 'c1'), end('agent_silent')],
    });
    lab.api.replies.set(`${path}?follow=true&after=c1&attempt=1`, { lines: [line('two\n'), end()] });

    const { code, out, err } = await moor('logs', 'job/seed', '--follow');
    expect([code, out, err]).to.deep.equal([0, 'one\ntwo\n', '']);
  });

  it('does not let the output of a container control a terminal', async () => {
    lab.api.replies.set(ONE, deployment(0));
    lab.api.replies.set(`${LOGS}?replica=0`, { lines: [line('a\u001b]0;title\u0007\tb\u009b2Jc\n'), end()] });
    const terminal = lab.createTerminal({ width: 80 });
    await run(['logs', 'web'], terminal);

    expect(terminal.printed.out).to.equal('a ]0;title \tb 2Jc\n');
  });

  it('prints every replica, each line with the name of its replica', async () => {
    lab.api.replies.set(ONE, deployment(0, 2));
    lab.api.replies.set(`${LOGS}?replica=0`, { lines: [line('hello\n'), line('world\n'), end()] });
    lab.api.replies.set(`${LOGS}?replica=2`, { lines: [line('hi\n'), end()] });

    const { code, out } = await moor('logs', 'web');

    expect([code, out]).to.deep.equal([0, 'web-0 | hello\nweb-0 | world\nweb-2 | hi\n']);
  });

  it('prints the other replicas when one is unavailable', async () => {
    lab.api.replies.set(ONE, deployment(0, 1));
    lab.api.replies.set(`${LOGS}?replica=0`, replyRefused(503, 'logs_unavailable'));
    lab.api.replies.set(`${LOGS}?replica=1`, { lines: [line('hi\n'), end()] });

    const { code, out, err } = await moor('logs', 'web');

    expect([code, out]).to.deep.equal([4, 'web-1 | hi\n']);
    expect(err).to.contain('logs_unavailable');
  });

  const reasons = [
    ['no replica has a node', 409, 'logs_replica_not_placed', 1],
    ['the container is not created yet', 409, 'logs_no_container', 1],
    ['the node is silent', 503, 'logs_node_silent', 4],
    ['the engine does not answer', 503, 'logs_engine_unreachable', 4],
    ['there is no replica', 404, 'resource_not_found', 3],
  ] as const;
  for (const [why, status, reason, expected] of reasons) {
    it(`ends with ${expected} and the reason when ${why}`, async () => {
      lab.api.replies.set(ONE, deployment());
      lab.api.replies.set(`${LOGS}?replica=0`, replyRefused(status, reason));
      const { code, out, err } = await moor('logs', 'web');
      expect([code, out]).to.deep.equal([expected, '']);
      expect(err).to.contain(reason);
    });
  }

  it('ends with the reason when the agent or the engine is lost in the middle', async () => {
    lab.api.replies.set(ONE, deployment(0));
    lab.api.replies.set(`${LOGS}?replica=0`, { lines: [line('hi\n'), end('node_lost')] });
    const { code, out, err } = await moor('logs', 'web');
    expect([code, out]).to.deep.equal([4, 'hi\n']);
    expect(err).to.contain('log broke off').and.contain('message of node_lost');
  });

  it('ends with the reason when a followed log cannot be read for a minute, and with 3 for an unknown deployment', async () => {
    lab.api.replies.set(ONE, deployment(0));
    lab.api.replies.set(`${LOGS}?follow=true&replica=0`, replyRefused(503, 'logs_node_silent'));
    const clock = new ManualClock();
    const terminal = lab.createTerminal({ clock });
    let code: number | undefined;
    const running = run(['logs', 'web', '--follow', '--replica', '0'], terminal).then(ended => (code = ended));
    await until('the command to give up', async () => {
      await clock.pass(5_000);
      return code !== undefined;
    });
    await running;
    expect(code).to.equal(4);
    expect(terminal.printed.err).to.contain('logs_node_silent');
    expect((await moor('logs', 'absent')).code).to.equal(3);
  });

  it('ends with the reason when a followed replica has had no container for a minute, only the log of its last one', async () => {
    lab.api.replies.set(ONE, deployment(0));
    const removed = `${JSON.stringify({ type: 'removed', cursor: null, removedAt: '2030-01-01T00:00:00Z' })}\n`;
    lab.api.replies.set(`${LOGS}?follow=true&replica=0`, {
      lines: [removed, line('last words\n', 'stdout', 'c1'), end('container_gone')],
    });
    lab.api.replies.set(`${LOGS}?follow=true&after=c1&replica=0`, { lines: [removed, end('container_gone')] });
    const clock = new ManualClock();
    const terminal = lab.createTerminal({ clock });
    let code: number | undefined;
    const running = run(['logs', 'web', '--follow', '--replica', '0'], terminal).then(ended => (code = ended));
    await until('the command to give up', async () => {
      await clock.pass(5_000);
      return code !== undefined;
    });
    await running;
    expect([code, terminal.printed.out]).to.deep.equal([4, 'last words\n']);
    expect(terminal.printed.err.match(/has no container now/g)).to.have.length(1);
    expect(terminal.printed.err).to.contain('moor describe deployment web');
  });

  it('reads the log of the container before with --previous', async () => {
    lab.api.replies.set(ONE, deployment(0));
    const removed = JSON.stringify({ type: 'removed', cursor: null, removedAt: '2030-01-01T00:00:00Z' });
    lab.api.replies.set(`${LOGS}?previous=true&replica=0`, { lines: [`${removed}\n`, line('last words\n'), end()] });
    const { code, out, err } = await moor('logs', 'web', '--previous');
    expect([code, out]).to.deep.equal([0, 'last words\n']);
    expect(err).to.contain('removed at 2030-01-01');
  });

  it('follows after the last line across lost connections and an unready server', async () => {
    let asked = 0;
    lab.api.replies.set(ONE, () => (asked < 5 ? deployment(0) : replyRefused(404, 'deployment_not_found')));
    lab.api.replies.set(`${LOGS}?follow=true&replica=0`, () => {
      asked++;
      return { lines: [line('a\n', 'stdout', 'c1'), line('half a ', 'stdout', 'c2')], cut: true };
    });
    lab.api.replies.set(`${LOGS}?follow=true&after=c2&replica=0`, () => {
      asked++;
      if (asked === 2) return replyRefused(503, 'store_unavailable');
      if (asked === 3) return replyRefused(404, 'resource_not_found'); // on its way to another node
      return { lines: [line('line\n', 'stdout', 'c3')] }; // a server that ends does not say why
    });
    lab.api.replies.set(`${LOGS}?follow=true&after=c3&replica=0`, () => {
      asked++;
      return { lines: [line('c\n', 'stdout', 'c4'), end('container_gone')] };
    });

    const followed = await lab.moor(['logs', 'web', '--follow'], { clock: hurried });
    expect(followed).to.deep.include({ code: 0, out: 'a\nhalf a line\nc\n' });
  });

  it('picks up replicas that are added while it follows', async () => {
    let isScaled = false;
    let isDeleted = false;
    lab.api.replies.set(ONE, () =>
      isDeleted ? replyRefused(404, 'deployment_not_found') : deployment(...(isScaled ? [0, 1] : [0])),
    );
    lab.api.replies.set(`${LOGS}?follow=true&tail=1&replica=0`, { lines: [line('one\n', 'stdout', 'c1')] });
    lab.api.replies.set(`${LOGS}?follow=true&after=c1&replica=0`, () => {
      isScaled = true;
      return isDeleted ? { lines: [end('container_gone')] } : replyRefused(503, 'logs_unavailable');
    });
    lab.api.replies.set(`${LOGS}?follow=true&replica=1`, () => {
      isDeleted = true;
      return { lines: [line('two\n', 'stdout', 'c2'), end('container_gone')] };
    });

    const { code, out } = await lab.moor(['logs', 'web', '--follow', '--tail', '1'], { clock: hurried });
    expect([code, out]).to.deep.equal([0, 'one\nweb-1 | two\n']);
  });

  it('prints the rejection and exits with 6 when its token is revoked meanwhile', async () => {
    let asked = 0;
    const once =
      <T>(first: T) =>
      () =>
        asked++ < 2 ? first : replyRefused(401, 'token_invalid');
    lab.api.replies.set(ONE, once(deployment(0)));
    lab.api.replies.set(`${LOGS}?follow=true&replica=0`, once({ lines: [line('a\n', 'stdout', 'c1')] }));
    lab.api.replies.set(`${LOGS}?follow=true&after=c1&replica=0`, replyRefused(401, 'token_invalid'));

    const { code, err } = await moor('logs', 'web', '--follow');

    expect(code).to.equal(6);
    expect(err).to.contain('token_invalid');
  });

  it('exits with 4 when the server was never reached', async () => {
    expect((await moor('--server', 'http://127.0.0.1:1', 'logs', 'web', '--follow')).code).to.equal(4);
  });

  describe('--controllers', () => {
    const record = (more: Record<string, string>) =>
      `${JSON.stringify({ time: '2026-01-01T00:00:01.500Z', level: 'info', ...more })}\n`;
    let path: string;

    beforeEach(() => {
      mkdirSync(join(lab.folder, 'logs'));
      path = join(lab.folder, 'logs', 'controllers.log');
      writeFileSync(
        path,
        `${record({ loop: 'scheduler', message: 'placed', node: 'n1' })}${record({ loop: 'other' })}not json\n`,
      );
    });

    it('prints the log of one loop', async () => {
      expect((await moor('logs', '--controllers', 'scheduler', '--no-follow')).out).to.equal(
        '00:00:01.500 info  placed node=n1\n',
      );
    });

    it('follows the log by default', async () => {
      const stop = new AbortController();
      const terminal = lab.createTerminal({ interrupted: stop.signal });
      const following = run(['logs', '--controllers', 'scheduler'], terminal);
      const printed = (text: string) => until(`${text} to be printed`, () => terminal.printed.out.includes(text));

      await printed('placed');
      appendFileSync(path, record({ loop: 'scheduler', message: 'replaced' }));
      await printed('replaced');
      stop.abort();

      expect(await following).to.equal(0);
    });
  });
});
