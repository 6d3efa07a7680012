import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { expect } from 'chai';

import { systemClock } from '../clock/index.js';
import { Client } from './client.js';
import { BrokenAnswerFault, UnreachableFault } from './answer.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const rejection = (code: string, field: string) => ({ code, field, received: 'x', expected: 'y', why: 'z', doc: '/d' });

describe('Client', () => {
  let server: Server;
  let client: Client;
  let handle: Handler;

  beforeEach(async () => {
    server = createServer((request, response) => handle(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = new Client({ server: formatAddress(server), token: 'mtk_a', tenant: 't1' });
  });

  afterEach(async () => {
    client.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const answer = (status: number, body: unknown, headers: Record<string, string> = {}): Handler => {
    return (_, response) => response.writeHead(status, headers).end(JSON.stringify(body));
  };

  it('sends the token, the tenant, the query and the body', async () => {
    let seen: unknown;
    handle = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', chunk => chunks.push(chunk as Buffer));
      request.on('end', () => {
        const { method, url, headers } = request;
        seen = [method, url, headers.authorization, headers['x-tenant-id'], Buffer.concat(chunks).toString()];
        response.writeHead(201).end('{"name":"web"}');
      });
    };

    const made = await client.request('POST', '/api/v1/deployments', {
      query: { dryRun: true, left: undefined },
      body: { name: 'web' },
    });

    expect(made).to.deep.equal({ ok: true, status: 201, value: { name: 'web' } });
    expect(seen).to.deep.equal(['POST', '/api/v1/deployments?dryRun=true', 'Bearer mtk_a', 't1', '{"name":"web"}']);
  });

  it('closes an idle connection before the server does, so that a write is not sent on one that is closing', async () => {
    server.keepAliveTimeout = 3_600_000;
    handle = answer(200, {});
    const [[socket]] = (await Promise.all([
      once(server, 'connection'),
      client.request('POST', '/api/v1/deployments', { body: {} }),
    ])) as [[Socket], unknown];
    await once(socket, 'close');
    expect(socket.destroyed).to.equal(true);
  });

  it('sends nothing on a connection that was idle for too long, however late its timers are', async () => {
    handle = answer(200, {});
    const late = { monotonic: 0, now: 0 };
    const clock = {
      ...systemClock,
      monotonic: () => systemClock.monotonic() + late.monotonic,
      now: () => systemClock.now() + late.now,
    };
    const busy = new Client({ server: client.server.href, clock });
    let connections = 0;
    server.on('connection', () => connections++);
    const ask = () => busy.request('POST', '/api/v1/deployments', { body: {} });
    // The process was busy, or stopped; the machine slept, when the monotonic clock stands still.
    const passed = [{}, {}, { monotonic: 1e6, now: 1e6 }, {}, { now: 1e6 }];
    for (const { monotonic = 0, now = 0 } of passed) {
      late.monotonic += monotonic;
      late.now += now;
      expect((await ask()).ok).to.equal(true);
    }
    expect(connections).to.equal(3);
    busy.close();
  });

  it('answers every rejection of a refused request', async () => {
    const all = [rejection('image_required', 'image'), rejection('replicas_negative', 'replicas')];
    handle = answer(422, { ...all[0], rejections: all });

    const refused = await client.request('POST', '/api/v1/deployments', { body: {} });

    expect(refused).to.deep.equal({ ok: false, status: 422, rejections: all });
  });

  it('reads Retry-After of a rejection', async () => {
    handle = answer(429, rejection('rate_limited', ''), { 'retry-after': '2' });

    const refused = await client.request('GET', '/api/v1/deployments');

    expect(refused).to.include({ ok: false, status: 429, retryAfterMs: 2000 });
    expect(!refused.ok && refused.rejections.map(({ code }) => code)).to.deep.equal(['rate_limited']);
  });

  it('collects every page of a list', async () => {
    const pages = new Map([
      [null, { items: [1, 2], revision: '7', next: 'b' }],
      ['b', { items: [3], revision: '7', next: null }],
    ]);
    handle = (request, response) => {
      const cursor = new URL(request.url ?? '', 'http://x').searchParams.get('continue');
      response.end(JSON.stringify(pages.get(cursor)));
    };

    const list = await client.all<number>('/api/v1/deployments');

    expect(list.ok && list.value).to.deep.equal({ items: [1, 2, 3], revision: '7' });
  });

  for (const path of [
    '/api/v1/nodes/..',
    '/api/v1/nodes/../tenants/t',
    '/api/v1/nodes/.',
    '/api/v1/nodes/%2E%2e/x?a=b',
    '/api/v1/nodes/..\\tenants',
  ])
    it(`sends nothing to another path than the one that is given: ${path}`, async () => {
      const asked: string[] = [];
      handle = (request, response) => {
        asked.push(request.url ?? '');
        response.end('{}');
      };
      expect(String(await thrownBy(client.request('DELETE', path)))).to.match(/"\.{1,2}" is the name of no object/);
      expect(asked).to.deep.equal([]);
    });

  it('throws when nothing listens', async () => {
    const unreachable = new Client({ server: 'http://127.0.0.1:1' });

    expect(await thrownBy(unreachable.request('GET', '/'))).to.be.instanceOf(UnreachableFault);
  });

  it('throws when the server does not answer in time', async () => {
    handle = () => undefined;

    expect(await thrownBy(client.request('GET', '/', { timeoutMs: 200 }))).to.be.instanceOf(UnreachableFault);
  });

  it('throws when the connection closes within the answer', async () => {
    handle = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"half":', () => response.destroy());
    };

    expect(await thrownBy(client.request('GET', '/'))).to.be.instanceOf(UnreachableFault);
  });

  for (const [what, status, body] of [
    ['a page that is not JSON', 200, '<html>'],
    ['a failure that is not a rejection', 502, '{"oops":true}'],
    ['a failure that is not JSON', 502, 'Bad Gateway'],
  ] as const) {
    it(`throws on ${what}`, async () => {
      handle = (_, response) => response.writeHead(status).end(body);

      const thrown = await thrownBy(client.request('GET', '/'));

      expect(thrown).to.be.instanceOf(BrokenAnswerFault).and.include({ status });
    });
  }

  it('repeats a GET on a pooled connection that the server has closed', async () => {
    let connections = 0;
    server.on('connection', () => connections++);
    handle = answer(200, { n: 1 });
    await client.request('GET', '/');
    handle = request => {
      handle = answer(200, { n: 2 });
      request.socket.destroy();
    };

    expect(await client.request('GET', '/')).to.deep.include({ ok: true, value: { n: 2 } });
    expect(connections).to.equal(2);
  });

  it('never repeats a write', async () => {
    handle = answer(200, {});
    await client.request('GET', '/');
    let writes = 0;
    handle = request => {
      writes++;
      request.socket.destroy();
    };

    expect(await thrownBy(client.request('POST', '/', { body: {} }))).to.be.instanceOf(UnreachableFault);
    expect(writes).to.equal(1);
  });
});

function formatAddress(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}
