import { expect } from 'chai';

import { ApiLab, type LabOptions } from '../../api/api-lab.testing.js';
import { until } from '../../dev/testing/index.js';
import { systemRandom } from '../../pkg/clock/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { formatRenewalText, NODE_HEADER, signOpenRequest } from '../../pkg/link/index.js';
import { RawConnection, requestText } from './raw-connection.js';

const DEPLOYMENTS = '/api/v1/deployments';
const BEAT = { labels: {}, capacity: { cpu: 1, memory: 1, disk: 1 }, agentVersion: '0.1.0' };
const WATCH = `${DEPLOYMENTS}?watch=true`;
/** More bytes than drip during any test. */
const MANY = 900_000;

describe('connections and seats under attack', () => {
  const clock = new ManualClock();
  const opened: RawConnection[] = [];
  let lab: ApiLab;
  let token: string;

  const start = async (settings: LabOptions['settings'] = {}) => {
    lab = await new ApiLab({ clock, settings }).start();
    token = await lab.tenantToken(lab.a, 'viewer');
  };
  afterEach(async () => {
    for (const connection of opened.splice(0)) connection.close();
    await lab.stop();
  });

  const open = async (options?: { isReading: boolean }) => {
    const connection = await RawConnection.open(lab.server.port, options);
    opened.push(connection);
    return connection;
  };
  const bearer = (text = token) => ({ Authorization: `Bearer ${text}` });
  /** Opens a stream, or is refused. */
  const watch = async (text = token) => {
    const connection = await open();
    connection.send(requestText('GET', WATCH, bearer(text)));
    return [connection, (await connection.answered())[0]] as const;
  };
  const measured = async (metric: string) => {
    const { text } = await lab.ask('GET', '/metrics');
    return Number(
      text
        .split('\n')
        .find(line => line.startsWith(metric))
        ?.split(' ')
        .at(-1) ?? 0,
    );
  };
  /** From here on requests wait for the store, until what this gives is called. */
  const holdStore = () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>(resolve => (release = resolve));
    const barrier = lab.cache.barrier.bind(lab.cache);
    lab.cache.barrier = () => held.then(barrier);
    return release;
  };

  const dripping: readonly { name: string; text: () => string; status: number }[] = [
    {
      name: 'a request without a token',
      text: () => requestText('POST', DEPLOYMENTS, { 'Content-Length': MANY }),
      status: 401,
    },
    {
      name: 'a request with a wrong token',
      text: () => requestText('POST', DEPLOYMENTS, { 'Content-Length': MANY, Authorization: 'Bearer x' }),
      status: 401,
    },
    { name: 'a health probe', text: () => requestText('GET', '/livez', { 'Content-Length': MANY }), status: 200 },
    {
      name: 'a page of the documentation',
      text: () => requestText('GET', '/docs/codes', { 'Content-Length': MANY }),
      status: 200,
    },
    {
      name: 'a path that does not exist',
      text: () => requestText('PUT', '/nowhere', { 'Content-Length': MANY }),
      status: 404,
    },
  ];
  for (const { name, text, status } of dripping) {
    it(`a body that drips behind ${name} does not hold its connection`, async () => {
      await start();
      const connection = await open();
      connection.send(text());
      expect(await connection.answered()).to.deep.equal([status]);
      connection.send('x');
      await clock.pass(6_000);
      await connection.closedWhileSending('x');
    });
  }

  it('a body of unknown length behind a refusal is not waited for at all', async () => {
    await start();
    const connection = await open();
    connection.send(requestText('POST', DEPLOYMENTS, { 'Transfer-Encoding': 'chunked' }));
    await connection.closedWhileSending('1\r\nx\r\n');
    expect(connection.answers).to.deep.equal([401]);
  });

  it('a body that drips into an open endpoint is cut off after ten seconds', async () => {
    await start();
    const connection = await open();
    connection.send(
      requestText('POST', '/agent/v1/token', { 'Content-Length': 900, 'Content-Type': 'application/json' }),
    );
    await until('the request to be read', async () => (await measured('mooring_seats_taken{kind="openBodies"}')) === 1);
    await clock.pass(11_000);
    await connection.closed();
    expect(connection.received).to.include('request_stalled');
  });

  it('a client that does not read its answers is cut', async () => {
    await start();
    const connection = await open({ isReading: false });
    const taken = () => measured('mooring_seats_taken{kind="open"}');
    connection.send(requestText('GET', '/openapi.json').repeat(30));
    await until('the answers to be stuck', async () => (await taken()) > 3);
    await until('no more answers to leave', async () => (await taken()) === (await taken()));
    await clock.pass(600_000);
    await until('the seats to be free', async () => (await taken()) === 1);
  });

  it('a token may open so many watches, and others of its tenant go on', async () => {
    await start({ streamsPerToken: 3, streamsPerTenant: 5 });
    const other = await lab.tenantToken(lab.a, 'viewer');
    const first = await watch();
    const statuses = [first, await watch(), await watch(), await watch()].map(([, status]) => status);
    expect(statuses).to.deep.equal([200, 200, 200, 429]);
    expect([(await watch(other))[1], (await watch(other))[1], (await watch(other))[1]]).to.deep.equal([200, 200, 429]);
    expect((await watch(await lab.tenantToken(lab.b)))[1]).to.equal(200);

    // The clock stands still, so a connection that is held back is of no use to the next request.
    const refused = await lab.ask('GET', WATCH, { token, headers: { connection: 'close' } });
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).to.deep.equal([
      429,
      'concurrency_limited',
      '1',
    ]);
    expect(refused.body['expected']).to.equal('at most 3 streams of one token at the same time');
    expect(await measured('mooring_seats_taken{kind="streams"}')).to.equal(6);
    expect(await measured('mooring_seats_refused_total{kind="streams",scope="token"}')).to.equal(2);
    first[0].close();
    await until('the seat to be free', async () => (await measured('mooring_seats_taken{kind="streams"}')) === 5);
    expect((await watch())[1]).to.equal(200);
  });

  it('an address may open so many watches, whatever its tokens', async () => {
    await start({ streamsPerAddress: 2 });
    const statuses = [await watch(), await watch(await lab.tenantToken(lab.b)), await watch()].map(
      ([, status]) => status,
    );
    expect(statuses).to.deep.equal([200, 200, 429]);
  });

  it('watches on one connection are counted one by one', async () => {
    await start({ streamsPerToken: 3 });
    const connection = await open();
    connection.send(requestText('GET', WATCH, bearer()).repeat(50));
    await until('the watches', async () => (await measured('mooring_seats_taken{kind="streams"}')) === 3);
    expect(await measured('mooring_seats_refused_total{kind="streams",scope="token"}')).to.be.greaterThan(20);
    connection.close();
    await until('the seats to be free', async () => (await measured('mooring_seats_taken{kind="streams"}')) === 0);
    expect(await measured('mooring_seats_taken{kind="requests"}')).to.equal(0);
  });

  it('requests under way are bounded, and agents and administrators get in all the same', async () => {
    await start({ requestsPerToken: 2, requestsPerServer: 3 });
    const node = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'machine-1' });
    const release = holdStore();
    const ask = async (text: string) => {
      const connection = await open();
      connection.send(requestText('GET', DEPLOYMENTS, bearer(text)));
      return connection;
    };
    const held = [await ask(token), await ask(token), await ask(await lab.tenantToken(lab.b))];
    await until('three under way', async () => (await measured('mooring_seats_taken{kind="requests"}')) === 3);
    const [third, fourth] = [await ask(token), await ask(await lab.tenantToken(lab.a))];
    expect(await third.answered()).to.deep.equal([429]);
    expect(await fourth.answered()).to.deep.equal([503]);
    expect(third.received).to.include('concurrency_limited');
    expect(fourth.received)
      .to.include('server_overloaded')
      .and.to.match(/retry-after: 1\r/i);

    const declined = await lab.ask('DELETE', '/agent/v1/logs/log_1', { token: node.text });
    expect(declined.body['code']).to.equal('resource_not_found');
    const admin = (await lab.token({ kind: 'admin' })).text;
    const beside = lab.ask('GET', '/api/v1/tenants', { token: admin });
    await until('the administrator', async () => (await measured('mooring_seats_taken{kind="requests"}')) === 4);

    release();
    expect((await beside).status).to.equal(200);
    for (const connection of held) expect(await connection.answered()).to.deep.equal([200]);
    await until('the seats to be free', async () => (await measured('mooring_seats_taken{kind="requests"}')) === 0);
  });

  /** Sends the head of a request whose body of a mebibyte never comes. */
  const drip = async (text: string) => {
    const connection = await open();
    const head = { 'Content-Length': 1 << 20, 'Content-Type': 'application/json', ...bearer(text) };
    connection.send(requestText('POST', DEPLOYMENTS, head));
    return connection;
  };

  it('bodies under way are bounded for a token and a tenant, and keep no heartbeat and no other tenant out', async () => {
    await start();
    const [one, two] = [await lab.tenantToken(lab.a), await lab.tenantToken(lab.a)];
    const node = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'machine-1' });
    await Promise.all(Array.from({ length: 10 }, () => drip(one)));
    await until('the bodies of the token', async () => (await measured('mooring_request_body_bytes')) === 8 << 20);
    const more = await drip(one);
    expect(await more.answered()).to.deep.equal([429]);
    expect(more.received).to.include('at most 8388608 body bytes of one token at the same time');
    await Promise.all(Array.from({ length: 10 }, () => drip(two)));
    await until('the bodies of the tenant', async () => (await measured('mooring_request_body_bytes')) === 16 << 20);
    const beyond = await drip(await lab.tenantToken(lab.a));
    expect(await beyond.answered()).to.deep.equal([429]);
    expect(beyond.received).to.include('at most 16777216 body bytes of one tenant at the same time');

    const others = await Promise.all([
      lab.ask('POST', '/agent/v1/heartbeat', { token: node.text, body: BEAT }),
      lab.ask('POST', DEPLOYMENTS, { token: await lab.tenantToken(lab.b), body: {} }),
      lab.ask('POST', '/api/v1/tenants', { token: (await lab.token({ kind: 'admin' })).text, body: {} }),
    ]);
    expect(others.map(({ status }) => status)).to.deep.equal([200, 422, 422]);
    for (const connection of opened) connection.close();
    await until('the room to be free', async () => (await measured('mooring_request_body_bytes')) === 0);
  });

  it('bodies of all tenants together are bounded, and keep no heartbeat and no renewal out', async () => {
    await start();
    const node = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'machine-1' });
    for (let count = 0; count < 4; count++) {
      const tenant = systemRandom.uuid();
      await lab.tenant(tenant);
      for (const text of [await lab.tenantToken(tenant), await lab.tenantToken(tenant)]) {
        await Promise.all(Array.from({ length: 8 }, () => drip(text)));
      }
    }
    await until('64 bodies', async () => (await measured('mooring_request_body_bytes')) === 64 << 20);
    expect(await (await drip(await lab.tenantToken(lab.b))).answered()).to.deep.equal([503]);
    expect((await lab.ask('POST', '/agent/v1/heartbeat', { token: node.text, body: BEAT })).status).to.equal(200);
    expect((await lab.ask('POST', '/agent/v1/token', { body: {} })).status).to.equal(422);
  });

  it('bodies that drip into open endpoints keep no probe out', async () => {
    await start();
    const head = { 'Content-Length': 900, 'Content-Type': 'application/json' };
    const connections = await Promise.all(Array.from({ length: 40 }, () => open()));
    for (const connection of connections) connection.send(requestText('POST', '/agent/v1/token', head));
    await until('the seats to be taken', async () => (await measured('mooring_seats_taken{kind="openBodies"}')) === 32);
    for (const path of ['/livez', '/readyz', '/healthz', '/metrics', '/docs/codes']) {
      expect((await lab.ask('GET', path)).status, path).to.equal(200);
    }
  });

  it('bodies that drip into open endpoints from the address of a node do not keep its renewals out', async () => {
    await start();
    const id = `node_${'1'.repeat(26)}`;
    const { text } = await lab.token({ kind: 'node', tenant: lab.a, node: id, nodeName: 'machine-1' });
    const head = { 'Content-Length': 900, 'Content-Type': 'application/json' };
    const connections = await Promise.all(Array.from({ length: 40 }, () => open()));
    for (const connection of connections) connection.send(requestText('POST', '/agent/v1/token', head));
    await until('the seats to be taken', async () => (await measured('mooring_seats_taken{kind="openBodies"}')) === 32);
    const credentials = lab.credentials(text);
    const renew = (sent?: Record<string, string>) => {
      const at = credentials.now();
      const body = { nodeId: id, at, proof: credentials.sign(formatRenewalText(id, at)) };
      const request = { method: 'POST', path: '/agent/v1/token', body: JSON.stringify(body) };
      const headers = sent ?? signOpenRequest(credentials, id, request);
      return { headers, answer: lab.ask('POST', '/agent/v1/token', { body, headers }) };
    };
    const signed = renew();
    expect((await signed.answer).status, 'what the node has signed').to.equal(200);
    const forged = { ...renew().headers, [NODE_HEADER]: `node_${'2'.repeat(26)}` };
    for (const headers of [{}, signed.headers, forged]) expect((await renew(headers).answer).status).to.equal(429);
  });

  it('a stolen token of a node alone uses up nothing of the node', async () => {
    await start({ connectionsPerServer: 3 });
    const { text } = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'machine-1' });
    const connection = await open();
    connection.send(requestText('GET', DEPLOYMENTS, bearer(text)).repeat(600));
    expect(new Set(await connection.answered(600))).to.deep.equal(new Set([403]));
    expect(connection.received).to.include('auth_forbidden');
    expect((await lab.ask('POST', '/agent/v1/heartbeat', { token: text, body: BEAT })).status).to.equal(200);
    const newer = [await open(), await open()];
    await connection.closed();
    expect(newer.some(({ isClosed }) => isClosed)).to.equal(false);
  });

  it('a client that repeats a refused request at once is not read for a second', async () => {
    await start({ rateLimitPerSecond: 1, rateLimitBurst: 1 });
    const connection = await open();
    connection.send(requestText('GET', DEPLOYMENTS, bearer()));
    expect(await connection.answered()).to.deep.equal([200]);
    connection.send(requestText('GET', DEPLOYMENTS, bearer()));
    expect(await connection.answered(2)).to.deep.equal([200, 429]);
    await clock.pass(0);
    connection.send(requestText('GET', DEPLOYMENTS, bearer()));
    expect((await lab.ask('GET', '/livez')).status).to.equal(200);
    expect(connection.answers).to.deep.equal([200, 429]);
    await clock.pass(1_000);
    expect(await connection.answered(3)).to.deep.equal([200, 429, 200]);
  });

  it('connections that prove nothing make way for those that do', async () => {
    await start({ connectionsPerServer: 4 });
    const idle = await Promise.all([open(), open(), open(), open()]);
    const [proven, status] = await watch();
    expect(status).to.equal(200);
    await until('one to be cut', () => idle.filter(({ isClosed }) => isClosed).length === 1);
    for (let count = 0; count < 8; count++) await open();
    await until('the idle ones to be cut', () => idle.every(({ isClosed }) => isClosed));
    expect(proven.isClosed).to.equal(false);
  });

  it('an address may hold so many connections, and a new one takes the place of the oldest that proved nothing', async () => {
    await start({ connectionsPerAddress: 3 });
    const [proven] = await watch();
    const held = [await open(), await open()];
    const more = await open();
    await held[0]!.closed();
    expect([proven, held[1]!, more].some(({ isClosed }) => isClosed)).to.equal(false);
    const node = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'machine-1' });
    expect((await lab.ask('POST', '/agent/v1/heartbeat', { token: node.text, body: BEAT })).status).to.equal(200);
  });
});
