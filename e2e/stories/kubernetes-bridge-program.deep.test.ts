import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

import { expect } from 'chai';

import { standInCluster } from '../lab/bridge-cluster.js';
import { BridgeLab } from '../lab/bridge.js';
import { until } from '../../dev/testing/index.js';

const NAMESPACE = 'team';

describe('moor bridge', () => {
  const cluster = standInCluster();
  let lab: BridgeLab | undefined;
  let folder: string | undefined;
  let bridge: ChildProcess | undefined;
  before(async () => {
    await cluster.start();
    lab = await new BridgeLab(cluster, NAMESPACE).start();
    folder = await mkdtemp(join(tmpdir(), 'mooring-bridge-'));
    const { url, token } = cluster.users;
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'one', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'bridge', user: { token } }],
      contexts: [{ name: 'bridge', context: { cluster: 'one', user: 'bridge' } }],
      'current-context': 'bridge',
    };
    await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 });
    await writeFile(join(folder, 'token'), lab.token, { mode: 0o600 });
  });
  after(async () => {
    bridge?.kill('SIGKILL');
    await lab?.stop();
    await cluster.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  it('mirrors a namespace into the tenant of its token, and gives the lease back when it is told to end', async () => {
    const argv = ['bridge', '--kubeconfig', join(folder!, 'kubeconfig'), '--namespace', NAMESPACE, '--resync', '1'];
    const connection = ['--server', lab!.mooring.server.url, '--token-file', join(folder!, 'token')];
    const { MOORING_TOKEN: _token, ...env } = process.env;
    bridge = spawn(resolve('moor'), [...argv, ...connection], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(bridge, 'exit');
    const printed = Promise.all([text(bridge.stdout!), text(bridge.stderr!)]);

    await lab!.declare('deployments', 'web', { image: 'registry.example.com/shop/web:1.4.2', replicas: 2 });
    const find = () => lab!.condition('deployments', 'web', 'Synced');
    await until('the deployment to be mirrored', async () => (await find()) === 'True Synced');
    expect((await lab!.ask('GET', '/api/v1/deployments/web')).body['replicas']).to.equal(2);
    expect(await lab!.listHolders()).to.have.length(1);

    bridge.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    const said = (await printed).join('');
    expect(code, said).to.equal(0);
    expect(await lab!.listHolders()).to.deep.equal([]);
    expect(said).to.include('bridge stopped').and.not.include(lab!.token);
    expect((await lab!.ask('GET', '/api/v1/deployments/web')).status).to.equal(200);
  });
});
