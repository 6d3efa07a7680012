import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../dev/testing/index.js';
import { Keyring } from '../pkg/auth/index.js';
import { systemRandom } from '../pkg/clock/index.js';
import { EtcdProcess, TcpProxy } from '../dev/processes/index.js';
import { EtcdStore } from '../pkg/store/index.js';
import { ApiLab, webDeployment } from './api-lab.testing.js';
import { WatchReader } from './watch/watch-reader.testing.js';

const DEADLINES = { callDeadlineMs: 1_000, settleWithinMs: 2_000 };
const PATH = '/api/v1/deployments';

describe('the API on a real etcd', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let proxy: TcpProxy;
  let lab: ApiLab;
  let token: string;
  const keyring = new Keyring([systemRandom.bytes(32)]);
  const labs: ApiLab[] = [];

  const openLab = async (endpoint: string) => {
    const store = new EtcdStore({ endpoints: [endpoint], prefix: '/mooring/', ...DEADLINES });
    const opened = await new ApiLab({ store, keyring }).start();
    labs.push(opened);
    return opened;
  };
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-api-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    proxy = await TcpProxy.start(etcd.port);
  });
  after(async () => {
    await proxy.stop();
    await etcd.kill();
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    lab = await openLab(proxy.endpoint);
    token = await lab.tenantToken(lab.a);
  });
  afterEach(async () => {
    proxy.mode = 'pass';
    for (const opened of labs.splice(0)) {
      await opened.stop();
      await opened.store.close();
    }
  });

  const make = (name: string, on = lab) => on.ask('POST', PATH, { token, body: webDeployment(name) });
  const scale = (name: string, replicas: number, on = lab) =>
    on.ask('PUT', `${PATH}/${name}`, { token, body: { replicas } });
  const watch = (query: string, on = lab) =>
    WatchReader.open(`${on.server.url}${PATH}?watch=true${query}`, { authorization: `Bearer ${token}` });

  it('answers a read on one server with what was written on another', async () => {
    const other = await openLab(etcd.endpoint);
    for (let round = 0; round < 20; round++) {
      await make(`far-${round}`);
      expect((await other.ask('GET', `${PATH}/far-${round}`, { token })).status).to.equal(200);
    }
  });

  it('resumes a watch after a restart, on another server, without a gap or a line twice', async () => {
    await make('a');
    const reader = await watch('');
    for (let replicas = 3; replicas < 9; replicas++) await scale('a', replicas);
    await Promise.all(['b', 'c', 'd'].map(name => make(name)));
    const lines = await reader.take(11);
    reader.close();
    const restarted = await openLab(etcd.endpoint);
    await scale('a', 20, restarted);

    for (const position of [1, 4, 8]) {
      const resumed = await watch(`&after=${lines[position]!.cursor}`, restarted);
      const rest = lines.slice(position + 1);
      const again = await resumed.take(rest.length + 1);
      resumed.close();
      expect(again.slice(0, -1)).to.deep.equal(rest);
      expect(again.at(-1)?.object?.replicas).to.equal(20);
    }
  });

  it('[4.27] answers 503 and degraded health while etcd is unavailable, and recovers with it', async () => {
    await make('before');
    proxy.mode = 'refuse';
    proxy.cut();
    const write = await make('during');
    const read = await lab.ask('GET', `${PATH}/before`, { token });
    const health = await lab.ask('GET', '/healthz');
    proxy.mode = 'pass';

    expect([write.status, write.body['code']]).to.deep.equal([503, 'store_unavailable']);
    expect(write.headers.get('retry-after')).to.equal('1');
    expect(read.status).to.equal(503);
    expect([health.status, health.body['status']]).to.deep.equal([503, 'degraded']);
    await until('a deployment to be created again', async () => (await make('after')).status === 201);
    expect((await lab.ask('GET', `${PATH}/after`, { token })).status).to.equal(200);
    expect((await lab.ask('GET', `${PATH}/during`, { token })).status).to.equal(404);
  });

  it('revokes a token although the watch is cut', async () => {
    const other = await openLab(etcd.endpoint);
    const made = await other.ask('POST', '/api/v1/tokens', { token, body: { role: 'viewer' } });
    const { token: doomed, id } = made.body as { token: string; id: string };
    expect((await lab.ask('GET', PATH, { token: doomed })).status).to.equal(200);
    proxy.cut();
    await other.ask('DELETE', `/api/v1/tokens/${id}`, { token });
    const refusal = await until('the token to be refused', async () => {
      const { status } = await lab.ask('GET', PATH, { token: doomed });
      return status !== 200 && status;
    });

    expect(refusal).to.equal(401);
  });

  it('stores every accepted write and no refused one while all connections are cut', async () => {
    const outcomes = new Map<string, number>();
    const cutting = setInterval(() => proxy.cut(), 400);
    await Promise.all(
      Array.from({ length: 16 }, async (_, client) => {
        for (let round = 0; round < 6; round++) {
          const name = `cut-${client}-${round}`;
          outcomes.set(name, (await make(name)).status);
        }
      }),
    );
    clearInterval(cutting);
    const { entries } = await lab.store.list(`deployments/${lab.a}/`);
    const stored = new Set(entries.map(({ key }) => key.split('/')[2]));

    expect([...outcomes].filter(([name, status]) => status === 201 && !stored.has(name))).to.deep.equal([]);
    expect([...outcomes].filter(([name, status]) => status === 409 && stored.has(name))).to.deep.equal([]);
    expect([...outcomes.values()].filter(status => status === 201).length).to.be.above(0);
  });
});
