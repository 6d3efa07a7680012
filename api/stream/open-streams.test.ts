import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { HttpLink, type LogLine, type LogRequest } from '../../pkg/link/index.js';
import { create, value } from '../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { WatchReader } from '../watch/watch-reader.testing.js';

const NODE = 'node_1';
const WATCH = '/api/v1/deployments?watch=true';
const LOGS = '/api/v1/deployments/web/logs?follow=true';

/** What an agent sends at the end of a log that is whole. */
const END: LogLine = { stream: 'stdout', text: '', end: 'complete' };

/** What an agent sends of a container that prints nothing. */
const quiet = {
  async *[Symbol.asyncIterator](): AsyncGenerator<LogLine> {
    yield { stream: 'stdout', text: '', begin: {} };
    await new Promise<never>(() => undefined);
  },
};

describe('streams', () => {
  let lab: ApiLab;
  let token: { readonly text: string; readonly id: string };
  let agent: HttpLink;
  /** The answers that the server was asked for. */
  let answers: ServerResponse[];

  beforeEach(async () => {
    lab = await new ApiLab().start();
    answers = [];
    const { handle } = lab.api;
    lab.api.handle = (request, response) => {
      answers.push(response);
      handle(request, response);
    };
    const { text, stored } = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer' });
    token = { text, id: stored.id };
    agent = new HttpLink({ server: lab.server.url });
    const node = await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'machine-1' });
    agent.present(lab.credentials(node.text));
  });
  afterEach(async () => {
    await agent.close();
    await lab.stop();
  });

  /** Sends requests at once on one connection. Gives how to be gone, as the server sees it. */
  const ask = async (...paths: readonly string[]) => {
    const head = `HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token.text}\r\n\r\n`;
    const socket = connect(lab.server.port, '127.0.0.1', () => {
      socket.write(paths.map(path => `GET ${path} ${head}`).join(''));
    });
    const other = () => answers.find(({ req }) => req.socket.remotePort === socket.localPort)?.req.socket;
    await until('the server to see the connection', () => other() !== undefined);
    const seen = other();
    return async () => {
      socket.resetAndDestroy();
      await until('the connection to be gone', () => seen?.destroyed === true);
    };
  };

  const watch = () => WatchReader.open(`${lab.server.url}${WATCH}`, { authorization: `Bearer ${token.text}` });

  const openNow = async (kind: string) => {
    const { text } = await lab.ask('GET', '/metrics');
    return Number(new RegExp(`^mooring_streams_open\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  };

  /** From here on requests wait for the store, until what this gives is called. */
  const hold = () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>(resolve => (release = resolve));
    const barrier = lab.cache.barrier.bind(lab.cache);
    lab.cache.barrier = () => held.then(barrier);
    return release;
  };

  const place = async () => {
    const admin = await lab.tenantToken(lab.a);
    const { body } = await lab.ask('POST', '/api/v1/deployments', { token: admin, body: webDeployment() });
    const replica: Replica = {
      uid: 'rep_0',
      tenant: lab.a,
      deployment: 'web',
      deploymentUid: (body['metadata'] as { uid: string }).uid,
      slot: 0,
      generation: 1,
      templateHash: 'h',
      template: { image: 'a:1', secretsVersion: 0 },
      nodeId: NODE,
      createdAt: new Date(0).toISOString(),
    };
    await create(lab.store, keys.replica(lab.a, 'web', 0), replica);
    await create(lab.store, keys.alive(lab.a, 'machine-1'), { id: NODE }); // its heartbeats arrive
  };
  const asked = async (): Promise<LogRequest> => {
    await until('a log request', () => lab.cache.list(ranges.logRequests).length > 0);
    return value<LogRequest>(lab.cache.list(ranges.logRequests)[0]!);
  };
  const send = async (lines: AsyncIterable<LogLine>) =>
    agent.sendLogs(await asked(), lines, new AbortController().signal);

  const revoke = async () => {
    const key = keys.token(token.id);
    const entry = lab.cache.get(key);
    if (entry) await lab.store.commit({ guards: [{ key, at: entry.revision }], puts: [], deletes: [key] });
    await until('the log request to be removed', () => lab.cache.get(key) === undefined);
  };

  it('are not opened for a client that has disconnected', async () => {
    const release = hold();
    for (let round = 0; round < 3; round++) await (await ask(WATCH))();
    const living = watch();
    release();
    const reader = await living;
    await reader.take(1);

    expect(await openNow('watch')).to.equal(1);
    reader.close();
  });

  it('are dropped when the connection closes before their pipelined request is served', async () => {
    const leave = await ask(WATCH, WATCH, WATCH);
    await until('an open watch', async () => (await openNow('watch')) > 0);
    await leave();

    await until('every watch to be closed', async () => (await openNow('watch')) === 0);
  });

  it('with HEAD are never opened', async () => {
    const { status, text } = await lab.ask('HEAD', WATCH, { token: token.text });

    expect([status, text, await openNow('watch')]).to.deep.equal([200, '', 0]);
  });

  it('release the agent when the reader of logs disconnects before the agent dials in', async () => {
    await place();
    const leave = await ask(LOGS);
    await asked();
    await leave();
    await send(quiet);

    expect(await openNow('logs')).to.equal(0);
  });

  it('release the agent when the reader of a container without output disconnects', async () => {
    await place();
    const leave = await ask(LOGS);
    const sent = send(quiet);
    await until('an open log stream', async () => (await openNow('logs')) === 1);
    await leave();
    await sent;

    expect(await openNow('logs')).to.equal(0);
  });

  it('release the agent when the connection closes before a pipelined request for logs is served', async () => {
    await place();
    const leave = await ask(WATCH, LOGS);
    const sent = send(quiet);
    await until('no log request to be left', () => lab.cache.list(ranges.logRequests).length === 0);
    await leave();
    await sent;

    expect(await openNow('logs')).to.equal(0);
  });

  it('open after the pipelined answers before them', async () => {
    await place();
    const leave = await ask(LOGS, WATCH);
    await send(
      (async function* () {
        yield { stream: 'stdout', text: 'one\n' } as const;
        yield END;
      })(),
    );
    await until('an open watch', async () => (await openNow('watch')) === 1);
    await leave();

    await until('every watch to be closed', async () => (await openNow('watch')) === 0);
  });

  it('are not told to be complete when an agent breaks off before it has said where they begin', async () => {
    await place();
    const reading = lab.ask('GET', LOGS, { token: token.text, headers: { accept: 'application/x-ndjson' } });
    await send(
      (async function* () {
        yield { stream: 'stdout', text: 'one\n' } as const;
      })(),
    );
    expect((await reading).text)
      .to.contain('"node_lost"')
      .and.to.not.contain('"complete"');
  });

  it('leave no listener behind, however often logs wait for the reader', async () => {
    await place();
    const reading = lab.ask('GET', LOGS, { token: token.text });
    const request = await asked();
    const [answer] = answers.filter(({ req }) => req.url === LOGS);
    let most = 0;
    answer!.on('drain', () => {
      most = Math.max(most, answer!.listenerCount('close'), answer!.listenerCount('error'));
    });
    const chatty = async function* () {
      for (let line = 0; line < 50; line++) yield { stream: 'stdout', text: 'x'.repeat(64 * 1024) } as const;
      yield END;
    };
    await agent.sendLogs(request, chatty(), new AbortController().signal);

    expect((await reading).text.length).to.equal(50 * 64 * 1024);
    expect(most).to.be.within(1, 5);
  });

  it('write no later line of logs after their token has ended', async () => {
    await place();
    const reading = lab.ask('GET', LOGS, { token: token.text });
    const talking = async function* () {
      yield { stream: 'stdout', text: 'before\n' } as const;
      await until('an open log stream', async () => (await openNow('logs')) === 1);
      await revoke();
      for (;;) {
        yield { stream: 'stdout', text: 'after\n' } as const;
        await new Promise(resolve => setImmediate(resolve));
      }
    };
    await send(talking()).catch(() => undefined); // the answer may come too late for an agent that goes on talking

    expect((await reading).text).to.equal('before\n');
    await until('every log stream to be closed', async () => (await openNow('logs')) === 0);
  });

  it('release the agent after a HEAD request for logs', async () => {
    await place();
    const head = lab.ask('HEAD', LOGS, { token: token.text });
    await send(quiet);

    expect((await head).status).to.equal(200);
    expect(await openNow('logs')).to.equal(0);
  });

  it('end at once when their token was revoked before they opened', async () => {
    const release = hold();
    const opening = watch();
    await until('an answer', () => answers.length > 0);
    await revoke();
    release();
    await (await opening).rest();

    expect(await openNow('watch')).to.equal(0);
  });
});
