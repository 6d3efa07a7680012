import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'chai';

import { buildDemoImage, RegistryProcess } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { createCanary, findLeaks } from '../lab/canary.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

const settings = { MOORING_SECRETS_NAMESPACES: 'deployments,resources,registries' };

describe('images of a private registry, on one engine for two tenants', function () {
  const [first, second] = [createCanary('registry password'), createCanary('rotated password')];
  let plane: ControlPlane;
  let fleet: Fleet;
  let registry: RegistryProcess;
  let owner: TenantClient;
  let stranger: TenantClient;

  before(async () => {
    plane = await ControlPlane.start(settings);
    fleet = await Fleet.start(plane);
    await fleet.registry.kill('SIGKILL'); // one that requires a login takes its place
    await serve(first.value);
    [owner, stranger] = [await TenantClient.open(plane, 'owner'), await TenantClient.open(plane, 'stranger')];
    await fleet.enrol(owner.client, 'owner-1');
    await fleet.enrol(stranger.client, 'stranger-1');
  });
  after(async () => {
    await registry?.kill('SIGKILL');
    await fleet?.stop();
    await plane?.stop();
  });

  const login = (password: string) => ({ username: 'robot', password });
  const serve = async (password: string) => {
    await registry?.kill('SIGKILL');
    const options = { folder: join(plane.folder, 'private-registry'), port: plane.registryPort };
    registry = await RegistryProcess.start({ ...options, login: login(password) });
  };
  const push = (tag: string, password: string) => buildDemoImage(registry.address, { tag, login: login(password) });
  const keep = async (tenant: TenantClient, password: string) => {
    const label = registry.address.replace(/[^a-z0-9]+/g, '-');
    const body = { values: { host: registry.address, ...login(password) } };
    unwrap(await tenant.client.request('PUT', `/api/v1/secrets/registries/${label}`, { body }));
    return `registries/${label}`;
  };
  const reasonOf = async (tenant: TenantClient, name: string) => {
    const { status } = await tenant.show(name);
    return JSON.stringify(status);
  };

  it('are pulled with the login of the tenant that has one', async () => {
    const image = await push('1', first.value);
    await owner.apply({ name: 'web', image });
    const secret = `registries/${registry.address.replace(/[^a-z0-9]+/g, '-')}`;
    await until('the reason', async () => (await reasonOf(owner, 'web')).includes(secret));
    await keep(owner, first.value);
    await owner.reaches('web', 'Running');
  });

  it('are not run by another tenant that knows the name, although the engine has them', async () => {
    const image = `${registry.address}/mooring/demo:1`;
    const before = (await fleet.view.containers()).length;
    await stranger.apply({ name: 'thief', image });
    await until('the refusal', async () => (await reasonOf(stranger, 'thief')).includes('requires a login'));
    await keep(stranger, 'guessed');
    await until('the other refusal', async () => (await reasonOf(stranger, 'thief')).includes('refuses the login'));
    expect(await fleet.view.containers()).to.have.length(before);
    await stranger.remove('thief');
  });

  it('are run from the engine by the node that has pulled them, while the registry is away', async () => {
    await registry.kill('SIGKILL');
    await owner.change('web', { replicas: 2 });
    await owner.reaches('web', 'Running');
    await owner.change('web', { replicas: 1 });
    await serve(first.value);
  });

  it('are pulled with the login as it is now', async () => {
    await serve(second.value);
    const image = await push('2', second.value);
    await owner.change('web', { image });
    await until('the refusal', async () => (await reasonOf(owner, 'web')).includes('refuses the login'));
    await keep(owner, second.value);
    await owner.reaches('web', 'Running');
  });

  it('leave their login in no record, log or file', async () => {
    expect(await findLeaks(plane, [first, second])).to.deep.equal([]);
    for (const name of ['agent-owner-1', 'agent-stranger-1']) {
      for (const entry of await readdir(join(plane.folder, name), { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const file = join(entry.parentPath, entry.name);
        expect(await readFile(file, 'utf8'), file)
          .not.to.contain(first.value)
          .and.not.to.contain(second.value);
      }
    }
  });
});
