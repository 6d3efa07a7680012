import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { TcpProxy } from '../../dev/processes/index.js';
import { FakeVault } from '../../pkg/secrets/vault/fake-vault.testing.js';
import { createCanary, findLeaks } from '../lab/canary.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { until } from '../../dev/testing/index.js';

const PATH = 'deployments/web-db';

/** The vault driver, on a server that answers as Vault's KV version 2 was seen to answer, with a wire that can be cut. */
describe('an unavailable secrets store', function () {
  const password = createCanary('password');
  let folder: string;
  let vault: FakeVault;
  let wire: TcpProxy;
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let image: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-vault-'));
    const token = join(folder, 'token');
    await writeFile(token, 'root\n', { mode: 0o600 });
    vault = await FakeVault.start();
    wire = await TcpProxy.start(Number(new URL(vault.address).port));
    plane = await ControlPlane.start({
      MOORING_SECRETS_DRIVER: 'vault',
      MOORING_VAULT_ADDRESS: wire.endpoint,
      MOORING_VAULT_TOKEN_FILE: token,
      MOORING_VAULT_TIMEOUT_MS: '2000',
    });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    await fleet.enrol(shop.client, 'shop-1');
    image = await fleet.image('1');
    unwrap(
      await shop.client.request('PUT', `/api/v1/secrets/${PATH}`, { body: { values: { password: password.value } } }),
    );
    for (const name of ['steady', 'lost']) {
      await shop.apply(consumer(name));
      await shop.reaches(name, 'Running');
    }
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
    await wire?.stop();
    await vault?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const consumer = (name: string) => ({
    name,
    image,
    replicas: 2,
    secrets: [{ name: 'DB', vault_path: PATH, anchor: 'process' }],
  });
  const listContainers = async (name: string) => {
    const all = await fleet.view.containers();
    return all.filter(({ labels }) => labels['mooring.io/deployment'] === name);
  };
  /** What runs, and since when: unchanged means that nothing restarted it. */
  const standing = async () => {
    const running = await fleet.view.running('steady');
    return Promise.all(running.map(async ({ id }) => `${id} ${await fleet.view.startedAt(id)}`));
  };
  const complaints = async () => {
    const events = unwrap(await shop.client.all<StoredEvent>('/api/v1/events'));
    return events.items.filter(({ type, subject }) => type === 'secret.unresolved' && subject.name === 'lost');
  };

  interface Trouble {
    readonly name: string;
    readonly begin: () => void;
    readonly end: () => void;
    readonly reason: string;
    /** What the status says to people. */
    readonly says: RegExp;
  }
  const troubles: readonly Trouble[] = [
    {
      name: 'cannot be reached',
      begin: () => {
        wire.mode = 'refuse';
        wire.cut();
      },
      end: () => {
        wire.mode = 'pass';
      },
      reason: 'secret_store_unavailable',
      says: /unreachable/,
    },
    {
      name: 'hangs',
      begin: () => {
        wire.mode = 'blackhole';
      },
      end: () => {
        wire.mode = 'pass';
        wire.cut();
      },
      reason: 'secret_store_unavailable',
      says: /unreachable/,
    },
    {
      name: 'is sealed',
      begin: () => {
        vault.sealed = true;
      },
      end: () => {
        vault.sealed = false;
      },
      reason: 'secret_store_unavailable',
      says: /sealed/,
    },
    {
      name: 'does not know the platform',
      begin: () => vault.tokens.delete('root'),
      end: () => vault.tokens.add('root'),
      reason: 'secret_store_unavailable',
      says: /credentials/,
    },
    {
      name: 'forbids it',
      begin: () => vault.granted.delete('deployments'),
      end: () => vault.granted.add('deployments'),
      reason: 'secret_forbidden',
      says: /deployments\/web-db/,
    },
  ];

  for (const { name, begin, end, reason, says } of troubles) {
    it(`that ${name} leaves running containers alone, starts none, and the deployment recovers by itself`, async () => {
      const before = await standing();
      const told = (await complaints()).length;
      begin();
      for (const { id } of await listContainers('lost')) await fleet.view.remove(id);

      try {
        const condition = await until('the status to say why', async () => {
          const { status } = await shop.show('lost');
          const found = status?.conditions.find(({ type }) => type === 'SecretsResolved');
          return status?.phase === 'Degraded' && found?.reason === reason && found;
        });
        expect(condition).to.deep.include({ status: 'False' });
        expect(condition.message).to.match(says);
        const [last, ...earlier] = (await complaints()).toReversed();
        expect(earlier).to.have.length(told);
        expect(last).to.deep.include({ severity: 'warning', reason });
        expect(await listContainers('lost')).to.deep.equal([]);
        expect(await standing()).to.deep.equal(before);
      } finally {
        end();
      }
      await shop.reaches('lost', 'Running');
      expect(await standing()).to.deep.equal(before);
    });
  }

  it('causes documents that refer to it to be refused, and nothing is stored', async () => {
    vault.sealed = true;
    const body = { kind: 'Deployment', ...consumer('late') };
    const refused = await shop.client.request('POST', '/api/v1/deployments', { body });
    vault.sealed = false;
    expect(refused.ok ? [] : refused.rejections.map(({ code }) => code)).to.deep.equal(['secret_store_unavailable']);
    expect((await plane.storedKeys()).filter(key => key.includes('late'))).to.deep.equal([]);
  });

  it('leaves its values in the engine alone', async () => {
    const [{ id } = { id: '' }] = await fleet.view.running('steady');
    expect(await fleet.view.environment(id)).to.include({ DB_password: password.value });
    expect(await findLeaks(plane, [password])).to.deep.equal([]);
  });
});
