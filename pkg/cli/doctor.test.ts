import { mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';
import { isThisMachine } from './doctor/observe-machine.js';
import type { Finding } from './doctor/observations.js';

describe('moor doctor', () => {
  const lab = useCommandLab();
  const health = { status: 'ok', store: { connected: true, alarms: [] }, controllers: { scheduler: { leader: true } } };
  const node = { name: 'n1', status: 'ready', conditions: [] };
  const words = ['doctor', '--docker-host', 'unix:///nowhere/docker.sock'];

  beforeEach(() => {
    lab.api.replies.set('GET /healthz', { status: 200, body: health });
    lab.api.replies.set('GET /api/v1/nodes', { status: 200, body: { items: [node], revision: '1' } });
  });

  it('says of each part that it is well, or what to do', async () => {
    const { code, out, err } = await lab.moor(words);
    expect(out).to.match(/^ok +server +http:\/\/127\.0\.0\.1:\d+ answers$/m);
    expect(out)
      .to.match(/^ok +controllers +1 loop/m)
      .and.to.match(/^ok +nodes +1 node/m)
      .and.to.match(/^ok +clock/m);
    expect(out).to.match(/^skipped +etcd .*\n +→ run this beside the server/m);
    expect(err).to.contain('no problem found');
    expect(code).to.equal(0);
  });

  it('exits with 1 when something is wrong', async () => {
    lab.api.replies.set('GET /healthz', {
      status: 503,
      body: { ...health, controllers: { scheduler: { leader: false } } },
    });
    const { code, out, err } = await lab.moor(words);
    expect(out).to.match(/^problem +controllers +without a leader: scheduler.*\n +→ start "moor controllers"/m);
    expect(err).to.match(/^1 problem/);
    expect(code).to.equal(1);
  });

  it('looks at the rest of the machine when no server answers', async () => {
    const silent = {
      environment: { HOME: lab.folder, MOORING_HOME: lab.folder, MOORING_SERVER: 'http://127.0.0.1:9' },
    };
    const { code, out } = await lab.moor(words, silent);
    expect(out)
      .to.match(/^problem +server .*does not answer/m)
      .and.to.match(/^problem +ports +nothing listens/m);
    expect(out).to.match(/ disk +/);
    expect(code).to.equal(1);
  });

  it('says why a server that is known is not asked, and does not claim that none is', async () => {
    const folder = join(lab.folder, '.config/mooring');
    mkdirSync(folder, { recursive: true });
    const contexts = { current: 'shop', contexts: { shop: { server: lab.api.address, token: lab.token } } };
    writeFileSync(join(folder, 'config.yaml'), JSON.stringify(contexts), { mode: 0o600 });
    const environment = { HOME: lab.folder, MOORING_HOME: lab.folder, MOORING_TOKEN: 'mtk_other' };
    const { code, out } = await lab.moor(words, { environment });
    expect(out).to.match(
      /^problem +server +MOORING_TOKEN is set without MOORING_SERVER, so it is not sent to http.* of a context\n +→ Name its server/m,
    );
    expect(out).not.to.contain('no server is known');
    expect(code).to.equal(1);
    const none = await lab.moor(words, { environment: { HOME: '/nowhere', MOORING_HOME: '/nowhere' } });
    expect(none.out).to.match(/^problem +server +no server is known\n +→ Start one here with "moor up"/m);
  });

  it('says that the server refuses the token', async () => {
    lab.api.replies.set('GET /api/v1/nodes', replyRefused(401, 'auth_invalid'));
    const { code, out } = await lab.moor(words);
    expect(out)
      .to.match(/^ok +server/m)
      .and.to.match(/^problem +token +the server refuses the token/m);
    expect(code).to.equal(1);
  });

  it('knows this machine from others, whose files and addresses mean nothing here', async () => {
    const known = await Promise.all(
      ['127.0.0.1', '127.8.8.8', '[::1]', '192.0.2.1', '[2001:db8::1]', 'nowhere.invalid'].map(host =>
        isThisMachine(new URL(`http://${host}:7070`)),
      ),
    );
    expect(known.toSpliced(2, 1)).to.deep.equal([true, true, false, false, false]);
    // Where a machine has no IPv6, it has no such address either.
    expect(known[2]).to.equal(
      Object.values(networkInterfaces())
        .flat()
        .some(each => each?.address === '::1'),
    );
  });

  it('misses no etcd of a server that keeps everything in memory', async () => {
    lab.api.replies.set('GET /api/v1/config', {
      status: 200,
      body: { version: '1', settings: { etcdEndpoints: [] } },
    });
    const { code, out } = await lab.moor(words);
    expect(out).to.match(/^ok +etcd +there is none: the server keeps everything in memory/m);
    expect(out).to.not.match(/^problem/m);
    expect(code).to.equal(0);
  });

  it('asks etcd where the settings are known, and never prints a token', async () => {
    lab.api.replies.set('GET /api/v1/config', {
      status: 200,
      body: { version: '1', settings: { etcdEndpoints: ['http://127.0.0.1:9'], tlsCertFile: '/nowhere.pem' } },
    });
    const { code, out, err } = await lab.moor([...words, '--json']);
    const { ok, findings } = JSON.parse(out) as { readonly ok: boolean; readonly findings: readonly Finding[] };
    const wrong = findings.filter(({ state }) => state === 'problem').map(({ area }) => area);
    expect([ok, code]).to.deep.equal([false, 1]);
    expect(wrong).to.include.members(['etcd', 'certificates', 'ports']);
    expect(out + err).not.to.contain(lab.token);
  });
});
