import { join } from 'node:path';

import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import type { Backup } from '../../crds/backup/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { itDeep, until } from '../../dev/testing/index.js';
import { type EtcdStore, value } from '../../pkg/store/index.js';
import { createCanary, findCanaries } from '../lab/canary.js';
import { ControlPlane } from '../lab/control-plane.js';
import { dieAt } from '../lab/dying-at.js';
import { Fleet } from '../lab/fleet.js';
import { runMoor } from '../lab/moor.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

describe('a deployment that is backed up, deleted, restored and moved, on a real engine', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let store: EtcdStore;
  let backup: Backup;
  const password = createCanary('password');

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    store = plane.openStore();
    const [image] = await Promise.all([fleet.image('1'), fleet.enrol(shop.client, 'shop-1')]);
    await shop.apply({
      name: 'web',
      image,
      environment: { MODE: 'one' },
      secrets: [{ name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', values: { pw: password.value } }],
    });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    await store?.close();
    await fleet?.stop();
    await plane?.stop();
  });

  const history = async (tenant = shop) => {
    const path = '/api/v1/archives/deployments/web';
    return unwrap(await tenant.client.request<{ revisions: readonly ArchivedRevision[] }>('GET', path)).revisions;
  };
  const changes = async (tenant?: TenantClient) =>
    (await history(tenant)).map(({ revision, change }) => `${revision} ${change}`);
  const remove = async () => {
    await shop.client.request('DELETE', '/api/v1/deployments/web');
    await until('web to be gone', async () => {
      const left = await fleet.view.containers();
      return left.length === 0 && (await shop.client.request('GET', '/api/v1/deployments/web')).status === 404;
    });
  };
  const restore = () => shop.client.request('POST', `/api/v1/backups/${backup.id}/restore`);

  /** The container, once the one before it is gone. */
  const alone = () =>
    until('one container', async () => {
      const running = await fleet.view.running('web');
      return running.length === 1 ? running[0] : undefined;
    });

  it('[4.22] holds no value of a secret', async () => {
    const body = { deploymentName: 'web' };
    backup = unwrap(await shop.client.request<Backup>('POST', '/api/v1/backups', { body }));
    const text = JSON.stringify(unwrap(await shop.client.request('GET', `/api/v1/backups/${backup.id}`)));
    expect(text).to.contain('deployments/web-db');
    const content = (await store.get(keys.backupContent(shop.id, backup.id)))!;
    const places = [
      { name: 'the answer', bytes: Buffer.from(text) },
      { name: 'the record', bytes: content.bytes },
    ];
    expect(findCanaries([password], places)).to.deep.equal([]);
  });

  itDeep('[2.8.11] is backed up as a whole or not at all, whenever the API server is killed', async () => {
    const body = { deploymentName: 'web' };
    const count = async (range: string) => (await store.list(ranges.of(range, shop.id))).entries.length;
    const counts: number[][] = [];
    await dieAt({ part: plane.api, at: ['backup.storing', 'backup.stored'] }, async () => {
      await plane.serving();
      for (const _ of ['nothing stored', 'stored whole']) {
        await shop.client.request('POST', '/api/v1/backups', { body }).catch(() => undefined);
        counts.push([await count(ranges.backups), await count(ranges.backupContents)]);
        await plane.serving();
      }
    });
    expect(counts).to.deep.equal([
      [1, 1],
      [2, 2],
    ]);
  });

  it('rolls its container back to an earlier revision', async () => {
    const before = await shop.show('web');
    await shop.change('web', { environment: { MODE: 'two' } });
    await shop.reaches('web', 'Running');
    const changed = await alone();
    const body = { revision: 1 };
    unwrap(await shop.client.request('POST', '/api/v1/archives/deployments/web/rollback', { body }));
    const after = await shop.reaches('web', 'Running');
    expect(after.metadata.specHash).to.equal(before.metadata.specHash);
    expect((await alone()).id).to.not.equal(changed.id);
  });

  it('runs again with the same hash after it was deleted, and its history goes on', async () => {
    await remove();
    expect(await changes()).to.deep.equal(['1 create', '2 update', '3 rollback', '4 delete']);
    unwrap(await restore());
    const { metadata } = await shop.reaches('web', 'Running');
    expect(metadata.specHash).to.equal(backup.specHash);
    expect((await changes()).at(-1)).to.equal('5 restore');
    expect(await fleet.view.running('web')).to.have.length(1);
  });

  itDeep('is restored as a whole or not at all, whenever the API server is killed', async () => {
    const countTold = async () => {
      const { entries } = await store.list(ranges.of(ranges.events, shop.id));
      return entries.filter(entry => value<StoredEvent>(entry).type === 'backup.restored').length;
    };
    for (const point of ['deployment.storing', 'deployment.stored'] as const) {
      await remove();
      const [last, told] = [(await history()).at(-1)!.revision, await countTold()];
      await dieAt({ part: plane.api, at: [point] }, async () => {
        await plane.serving();
        await restore().catch(() => undefined);
      });
      await plane.serving();
      const isThere = (await store.get(keys.deployment(shop.id, 'web'))) !== undefined;
      expect(isThere).to.equal(point === 'deployment.stored');
      const archived = (await history()).at(-1)!;
      expect([archived.revision, archived.change, await countTold()]).to.deep.equal(
        isThere ? [last + 1, 'restore', told + 1] : [last, 'delete', told],
      );
      if (!isThere) unwrap(await restore());
    }
    expect((await shop.reaches('web', 'Running')).metadata.specHash).to.equal(backup.specHash);
  });

  itDeep(
    '[4.21] moves to another installation as a file, and runs there with the same hash and its history',
    async () => {
      const file = join(plane.folder, 'web.json');
      const other = await ControlPlane.start({ MOORING_REGISTRY_INSECURE: fleet.registry.address });
      try {
        const bank = await TenantClient.open(other, 'bank');
        await fleet.enrol(bank.client, 'bank-1', {}, { server: other.server });
        expect((await runMoor(plane, shop, 'backup', 'export', backup.id, '--file', file)).status).to.equal(0);
        for (const argv of [
          ['import', file],
          ['restore', backup.id],
        ]) {
          const { status, stderr } = await runMoor(other, bank, 'backup', ...argv);
          expect(status, stderr).to.equal(0);
        }
        expect(await changes(bank)).to.deep.equal(['1 create', '2 restore']);
        const body = { values: { pw: password.value } };
        unwrap(await bank.client.request('PUT', '/api/v1/secrets/deployments/web-db', { body }));
        expect((await bank.reaches('web', 'Running')).metadata.specHash).to.equal(backup.specHash);
        const running = await fleet.view.running('web');
        expect(new Set(running.map(({ labels }) => labels['mooring.io/tenant']))).to.include(bank.id);
      } finally {
        await other.stop();
      }
    },
  );
});
