import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { expect } from 'chai';

import { systemClock } from '../../pkg/clock/index.js';
import { declareRestore } from '../../pkg/link/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { WatchReader } from './watch-reader.testing.js';

const PATH = '/api/v1/deployments';

describe('watches over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  let readers: WatchReader[];
  beforeEach(async () => {
    lab = await new ApiLab({ settings: { tailBuffer: 50 } }).start();
    token = await lab.tenantToken(lab.a);
    readers = [];
  });
  afterEach(async () => {
    for (const reader of readers) reader.close();
    await lab.stop();
  });

  const make = (name: string) => lab.ask('POST', PATH, { token, body: webDeployment(name) });
  const scale = (name: string, replicas: number) => lab.ask('PUT', `${PATH}/${name}`, { token, body: { replicas } });
  const watch = async (query = '', headers: Record<string, string> = {}, path = PATH) => {
    const url = `${lab.server.url}${path}?watch=true${query}`;
    const reader = await WatchReader.open(url, { authorization: `Bearer ${token}`, ...headers });
    readers.push(reader);
    return reader;
  };
  const seen = (lines: readonly { type: string; object?: { name?: string; replicas?: number } | null }[]) =>
    lines.map(({ type, object }) => (object ? `${type} ${object.name} ${object.replicas}` : type));

  it('begin with the existing objects, then a bookmark, then every change', async () => {
    await make('a');
    await make('b');
    const reader = await watch();
    const opening = await reader.take(3);
    await scale('a', 5);
    await make('c');
    const following = await reader.take(2);

    expect(seen(opening)).to.deep.equal(['added a 2', 'added b 2', 'bookmark']);
    expect(seen(following)).to.deep.equal(['modified a 5', 'added c 2']);
  });

  it('do not take a cursor or a revision from before a restore for a place in the restored history', async () => {
    await make('a');
    const before = await watch();
    const cursors = (await before.take(2)).map(({ cursor }) => cursor);
    const list = (await lab.ask('GET', PATH, { token })).body['revision'] as string;
    const status = async (after: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${lab.server.url}${PATH}?watch=true&after=${after}`, { headers });
      await response.body?.cancel();
      return response.status;
    };
    expect([await status(cursors[1]!), await status(list)]).to.deep.equal([200, 200]);
    await declareRestore(lab.store, lab.clock);
    for (const replicas of [3, 4, 5]) await scale('a', replicas);
    for (const after of [...cursors, list]) expect(await status(after), after).to.equal(410);

    const reader = await watch();
    const [added, bookmark] = await reader.take(2);
    const newList = (await lab.ask('GET', PATH, { token })).body['revision'] as string;
    for (const after of [added!.cursor, bookmark!.cursor, newList]) {
      expect(after).to.match(/~[0-9a-z]+$/);
      expect(await status(after), after).to.equal(200);
    }
    await scale('a', 6);
    const resumed = await watch(`&after=${bookmark!.cursor}`);
    expect(seen(await resumed.take(1))).to.deep.equal(['modified a 6']);
  });

  it('resume exactly after any line', async () => {
    await make('a');
    const reader = await watch();
    for (const replicas of [3, 4, 5, 6]) await scale('a', replicas);
    const lines = await reader.take(6);

    for (const [position, { cursor, type }] of lines.entries()) {
      if (type === 'added') continue;
      const resumed = await watch(`&after=${cursor}`);
      const rest = lines.slice(position + 1);
      expect(await resumed.take(rest.length), `after ${cursor}`).to.deep.equal(rest);
    }
  });

  it('resume inside a revision that changed several things', async () => {
    const { cache, store, a } = lab;
    await make('a');
    const [entry] = cache.list(`deployments/${a}/`);
    const { revision } = cache;
    const puts = ['x', 'y', 'z'].map(name => ({ key: `deployments/${a}/${name}`, bytes: entry!.bytes }));
    await store.commit({ guards: puts.map(({ key }) => ({ key, at: 0 })), puts, deletes: [] });
    const whole = await (await watch(`&after=${revision}`)).take(3);
    const half = await (await watch(`&after=${whole[0]!.cursor}`)).take(2);

    expect(new Set(whole.map(({ cursor }) => cursor)).size).to.equal(3);
    expect(half).to.deep.equal(whole.slice(1));
  });

  it('resume inside their initial list, as it was when it was read', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await make(name);
    const [first, second] = await (await watch()).take(5);
    await scale('d', 9);
    await make('e');
    const resumed = await (await watch(`&after=${encodeURIComponent(second!.cursor)}`)).take(5);

    expect(first?.object?.name).to.equal('a');
    expect(seen(resumed)).to.deep.equal(['added c 2', 'added d 2', 'bookmark', 'modified d 9', 'added e 2']);
  });

  it('begin after the revision of a list without a gap', async () => {
    await make('a');
    const list = await lab.ask('GET', PATH, { token });
    await scale('a', 7);
    const reader = await watch(`&after=${list.body['revision'] as string}`);

    expect(seen(await reader.take(1))).to.deep.equal(['modified a 7']);
  });

  it('send a changed status as a modified deployment', async () => {
    const { body } = await make('a');
    const { uid } = body['metadata'] as { uid: string };
    const reader = await watch();
    await reader.take(2);
    const key = `status/${lab.a}/a`;
    const bytes = Buffer.from(JSON.stringify({ uid, phase: 'Running' }));
    await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes }], deletes: [] });
    const [line] = await reader.take(1);

    expect(line?.type).to.equal('modified');
    expect(line?.object?.['status']).to.include({ phase: 'Running' });
  });

  it('send a deleted object with its last state', async () => {
    await make('a');
    const reader = await watch();
    await reader.take(2);
    const key = `deployments/${lab.a}/a`;
    const entry = await lab.store.get(key);
    await lab.store.commit({ guards: [{ key, at: entry!.revision }], puts: [], deletes: [key] });

    expect(seen(await reader.take(1))).to.deep.equal(['deleted a 2']);
  });

  it('are served as server-sent events on request, and resume by Last-Event-ID', async () => {
    await make('a');
    const accept = { accept: 'text/event-stream' };
    const reader = await watch('', accept);
    await scale('a', 3);
    await scale('a', 4);
    const lines = await reader.take(4);
    const resumed = await watch('', { ...accept, 'last-event-id': lines[2]!.cursor });

    expect(lines[2]!.id).to.equal(lines[2]!.cursor);
    expect(await resumed.take(1)).to.deep.equal(lines.slice(3));
  });

  it('are refused with 410 when the cursor is older than the history', async () => {
    await make('a');
    const { cursor } = (await (await watch()).take(2))[1]!;
    for (let replicas = 0; replicas < 60; replicas++) await scale('a', replicas);
    for (const after of [cursor, '1', '99999999']) {
      const answer = await lab.ask('GET', `${PATH}?watch=true&after=${after}`, { token });

      expect([answer.status, answer.body['code']], after).to.deep.equal([410, 'watch_expired']);
    }
  });

  it('never show objects of another tenant, nor events that the filter excludes', async () => {
    const events = await watch('&type=deployment.updated&subject=a', {}, '/api/v1/events');
    const reader = await watch();
    const other = await lab.tenantToken(lab.b);
    await lab.ask('POST', PATH, { token: other, body: webDeployment('theirs') });
    await make('a');
    await make('b');
    await scale('b', 3);
    await scale('a', 3);

    expect(seen(await reader.take(3))).to.deep.equal(['bookmark', 'added a 2', 'added b 2']);
    const [, line] = await events.take(2);
    expect(line?.object).to.deep.include({ type: 'deployment.updated' });
    expect(line?.object?.['subject']).to.include({ name: 'a' });
  });

  it('disconnect a reader that is too slow with a gone line, at no cost to other readers', async () => {
    for (let number = 0; number < 20; number++) await make(`d${number}`);
    const slow = await stalled(lab.server.port, token);
    const quick = await watch();
    await quick.take(21);
    const padding = 'x'.repeat(30_000);
    for (let round = 0; round < 120; round++) {
      const body = { environment: { A: padding, B: padding, C: padding, ROUND: String(round) } };
      expect((await lab.ask('PUT', `${PATH}/d0`, { token, body })).status).to.equal(200);
      await quick.take(1);
    }
    const text = await drain(slow);
    const last = text.trimEnd().split('\n').at(-3) ?? '';

    expect(JSON.parse(last)).to.include({ type: 'gone' });
  });

  it('end in good order when the server stops', async () => {
    const reader = await watch();
    await reader.take(1);
    await lab.server.close(); // ends, or the test times out

    expect(await reader.rest()).to.deep.equal([]);
  });
});

describe('a watch behind another one on its connection', () => {
  const DAY_MS = 86_400_000;

  it('is told that its place is gone when the history has moved past it meanwhile', async () => {
    let endFirst = () => undefined as void;
    const after = (ms: number, act: () => void) => {
      if (ms !== DAY_MS) return systemClock.after(ms, act);
      endFirst = act;
      return () => undefined;
    };
    const lab = await new ApiLab({ settings: { tailBuffer: 50 }, clock: { ...systemClock, after } }).start();
    try {
      const token = await lab.tenantToken(lab.a);
      await lab.ask('POST', PATH, { token, body: webDeployment('a') });
      const socket = connect(lab.server.port, '127.0.0.1');
      const first = `/k8s/apis/mooring.io/v1/namespaces/${lab.a}/deployments?watch=true&timeoutSeconds=${DAY_MS / 1_000}`;
      for (const path of [first, `${PATH}?watch=true`])
        socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      const text = drain(socket);
      // Both have been read once the list of the first is there: they came in one piece.
      await once(socket, 'data');
      for (let replicas = 0; replicas < 60; replicas++)
        await lab.ask('PUT', `${PATH}/a`, { token, body: { replicas: replicas % 9 } });
      endFirst();
      expect(await text).to.contain('"gone"');
    } finally {
      await lab.stop();
    }
  });
});

/** A client that asks for a watch and then does not read. */
function stalled(port: number, token: string): Promise<Socket> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`GET ${PATH}?watch=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      socket.once('readable', () => resolve(socket));
    });
    socket.pause();
  });
}

function drain(socket: Socket): Promise<string> {
  return new Promise(resolve => {
    let text = '';
    socket.setEncoding('utf8').on('data', chunk => {
      text += chunk;
      if (text.includes('"gone"')) socket.end();
    });
    socket.on('close', () => resolve(text));
  });
}
