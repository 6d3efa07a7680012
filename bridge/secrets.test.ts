import { expect } from 'chai';

import { FakeKubernetes } from '../dev/kubernetes/index.js';
import type { Client } from '../pkg/client/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { MirrorSide } from './mirror-side.js';
import { copySecret, type SecretEnv } from './secrets.js';

describe('secrets that are copied', () => {
  let cluster: FakeKubernetes;
  let env: SecretEnv;
  let copies: string[];
  beforeEach(async () => {
    const client = await import('@kubernetes/client-node');
    cluster = await new FakeKubernetes().start();
    const config = new client.KubeConfig();
    config.loadFromClusterAndUser({ name: 'x', server: cluster.url, skipTLSVerify: true }, { name: 'x' });
    const place = { group: '', version: 'v1', plural: 'secrets', namespace: 'team' };
    for (const name of ['a', 'b', 'c']) cluster.objects.create(place, { metadata: { name } as never, data: {} });
    copies = [];
    const connect = (tenant: string) => {
      const request = (_method: string, path: string) => {
        copies.push(`${tenant} ${path.split('/').at(-1)}`);
        return Promise.resolve({ ok: true });
      };
      return { request } as unknown as Client;
    };
    const notes = { namespace: 'team', name: 'notes' };
    env = { cluster: new MirrorSide(config, client), connect, log: silentLogger, checkLead: () => undefined, notes };
  });
  afterEach(() => cluster.stop());
  const copy = (name: string, tenant = 'one') =>
    copySecret(env, { namespace: 'team', name, tenant, path: `resources/${name}` });

  it('are copied once to each tenant', async () => {
    for (const tenant of ['one', 'one', 'two', 'one', 'two']) await copy('a', tenant);
    expect(copies).to.deep.equal(['one a', 'two a']);
  });

  it('are noted all when they are copied at once', async () => {
    await Promise.all(['a', 'b', 'c'].map(name => copy(name)));
    for (const name of ['a', 'b', 'c']) await copy(name);
    expect(copies.toSorted()).to.deep.equal(['one a', 'one b', 'one c']);
  });

  it('are noted by the leader only', async () => {
    let asked = 0;
    const checkLead = () => {
      if (++asked === 2) throw new Error('another leads');
    };
    env = { ...env, checkLead };
    const thrown: unknown = await copy('a').catch((error: unknown) => error);
    expect(thrown).to.have.property('message', 'another leads');
    const place = { group: '', version: 'v1', plural: 'configmaps', namespace: 'team' };
    expect(cluster.objects.list(place)).to.have.length(0);
  });
});
