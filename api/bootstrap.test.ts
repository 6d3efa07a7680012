import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { Keyring } from '../pkg/auth/index.js';
import { bootstrap, bootstrapAdministrator } from '../pkg/bootstrap/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { MemoryStore } from '../pkg/store/index.js';
import { ApiLab } from './api-lab.testing.js';

describe('bootstrap', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-bootstrap-'));
    file = join(folder, 'home', 'tokens.json');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const keyring = new Keyring([systemRandom.bytes(32)]);
  const options = (store: MemoryStore) => ({ store, keyring, clock: systemClock, random: systemRandom, file });

  it('creates valid tokens once, in a file that only its owner can read', async () => {
    const store = new MemoryStore({ clock: systemClock });
    const access = await bootstrap(options(store));
    const again = await bootstrap(options(store));
    const lab = await new ApiLab({ store, keyring }).start();
    const list = await lab.ask('GET', '/api/v1/deployments', { token: access.tenantToken });
    const tenants = await lab.ask('GET', '/api/v1/tenants', { token: access.adminToken });
    await lab.stop();

    expect(again).to.deep.equal(access);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect([list.status, tenants.status]).to.deep.equal([200, 200]);
    const names = (tenants.body['items'] as { name: string }[]).map(({ name }) => name);
    expect(names).to.include.members(['platform', 'demo']);
  });

  it('restores the records from the file when the store was lost or the process was killed in between', async () => {
    const access = await bootstrap(options(new MemoryStore({ clock: systemClock })));
    const store = new MemoryStore({ clock: systemClock });

    expect(await bootstrap(options(store))).to.deep.equal(access);
    expect((await store.list('tokens/')).entries).to.have.length(2);
  });

  it('finds its tenants again when the file was lost', async () => {
    const store = new MemoryStore({ clock: systemClock });
    const access = await bootstrap(options(store));
    rmSync(file);
    const again = await bootstrap(options(store));

    expect(again.tenant).to.deep.equal(access.tenant);
    expect(again.tenantToken).to.not.equal(access.tenantToken);
    expect((await store.list('tenants/')).entries).to.have.length(2);
  });

  it('creates new tokens when the keyring was replaced', async () => {
    const store = new MemoryStore({ clock: systemClock });
    const access = await bootstrap(options(store));
    const again = await bootstrap({ ...options(store), keyring: new Keyring([systemRandom.bytes(32)]) });

    expect(again.adminToken).to.not.equal(access.adminToken);
    expect(readFileSync(file, 'utf8')).to.include(again.adminToken);
  });

  it('makes one administrator on an empty store, whose token the API accepts, and another only on request', async () => {
    const store = new MemoryStore({ clock: systemClock });
    const first = await bootstrapAdministrator({ ...options(store), another: false });
    const refused = await bootstrapAdministrator({ ...options(store), another: false });
    const second = await bootstrapAdministrator({ ...options(store), another: true });
    const tenants = await store.list('tenants/');
    const lab = await new ApiLab({ store, keyring }).start();
    const create = async (token = '', name: string) =>
      (await lab.ask('POST', '/api/v1/tenants', { token, body: { name } })).status;
    const statuses = [await create(first.token, 'one'), await create(second.token, 'two')];
    await lab.stop();

    expect([refused.token, refused.record.id]).to.deep.equal([undefined, first.record.id]);
    expect(statuses).to.deep.equal([201, 201]);
    expect(tenants.entries).to.have.length(1);
  });

  it('makes a new administrator when the token of the last one has expired', async () => {
    const store = new MemoryStore({ clock: systemClock });
    await bootstrapAdministrator({ ...options(store), another: false });
    const later = { ...systemClock, now: () => systemClock.now() + 400 * 86_400_000 };
    const next = await bootstrapAdministrator({ ...options(store), clock: later, another: false });
    expect(next.token).to.match(/^mad_/);
  });
});
