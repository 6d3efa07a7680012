import { join } from 'node:path';

import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import { TcpProxy } from '../../dev/processes/index.js';
import { toEnvironment } from '../../pkg/config/index.js';
import { createCanary, findCanaries, findLeaks } from '../lab/canary.js';
import { Child } from '../lab/child.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet, type EnrolledMachine } from '../lab/fleet.js';
import { LoginServer } from '../lab/login-server.js';
import { RecordingProxy } from '../lab/recording-proxy.js';
import { RotationClient, TenantClient, unwrap } from '../lab/tenant-client.js';
import { itDeep, until } from '../../dev/testing/index.js';

const PATH = 'deployments/web-db';

describe('secrets, on a real engine', function () {
  const passwords = [createCanary('first'), createCanary('second'), createCanary('third')] as const;
  const heard: Buffer[] = [];
  const backend = new LoginServer();
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let wire: TcpProxy;
  /** Between the agent and the API server. */
  let link: RecordingProxy;
  let machine: EnrolledMachine;
  let image: string;
  let rotation: RotationClient;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_LEADER_LEASE_SECONDS: '2' });
    wire = await TcpProxy.start(Number(new URL(plane.server).port));
    wire.onServerData = data => heard.push(Buffer.from(data)) > 0;
    link = await RecordingProxy.start(plane.server);
    fleet = await Fleet.start(plane, link.address);
    shop = await TenantClient.open(plane, 'shop', wire.endpoint);
    image = await fleet.image('1');
    machine = await fleet.enrol(shop.client, 'shop-1');
    rotation = new RotationClient(shop, 'web');
    await backend.open(fleet, shop, image);
  });
  after(async () => {
    backend.close();
    await fleet?.stop();
    await link?.stop();
    await wire?.stop();
    await plane?.stop();
  });

  const write = async (path: string, values: Readonly<Record<string, string>>) =>
    unwrap(await shop.client.request('PUT', `/api/v1/secrets/${path}`, { body: { values } }));
  const listContainers = async (name: string) =>
    (await fleet.view.containers()).filter(({ labels }) => labels['mooring.io/deployment'] === name);
  const readReason = async (name: string) => {
    const { status } = await shop.reaches(name, 'Degraded');
    return status?.conditions.find(({ type }) => type === 'SecretsResolved')?.reason;
  };

  it('[2.4.2 2.4.37] reach the container’s environment: every key, and what is composed of them', async () => {
    const [first] = passwords;
    backend.accepted.add(first.value);
    await write(PATH, { user: 'shop', password: first.value });
    const composedSecrets = { DATABASE_URL: 'db://{{secret.web-db.user}}:{{secret.web-db.password}}@backend' };
    await shop.apply({ name: 'web', replicas: 2, ...backend.clients(image, PATH), composedSecrets });
    await shop.reaches('web', 'Running');

    const containers = await fleet.view.running('web');
    expect(containers).to.have.length(2);
    for (const { id } of containers) {
      expect(await fleet.view.environment(id)).to.include({
        DB_user: 'shop',
        DB_password: first.value,
        DATABASE_URL: `db://shop:${first.value}@backend`,
      });
    }
    expect(backend.logins.denied).to.equal(0);
  });

  it('[3.13] leave a deployment without a container while they are missing', async () => {
    const secrets = [{ name: 'API', vault_path: 'deployments/absent', anchor: 'process' }];
    await shop.apply({ name: 'missing', image, replicas: 1, secrets });
    expect(await readReason('missing')).to.equal('secret_missing');
    expect(await listContainers('missing')).to.deep.equal([]);

    await write('deployments/absent', { key: 'x' });
    await shop.reaches('missing', 'Running');
    await shop.remove('missing');
  });

  itDeep('[2.4.10] leave a deployment without a container while the policy forbids them', async () => {
    await plane.controllers.kill('SIGTERM');
    const strict = new Child('controllers', {
      environment: {
        ...toEnvironment(plane.etcd.access),
        MOORING_KEY_FILE: join(plane.folder, 'keys'),
        MOORING_SECRETS_NAMESPACES: 'deployments',
      },
      logFile: join(plane.folder, 'strict.log'),
    });
    strict.start();
    await write('resources/smtp', { password: 'x' });
    const secrets = [{ name: 'SMTP', vault_path: 'resources/smtp', anchor: 'external' }];
    await shop.apply({ name: 'forbidden', image, replicas: 1, secrets });
    expect(await readReason('forbidden')).to.equal('secret_forbidden');
    expect(await listContainers('forbidden')).to.deep.equal([]);

    await strict.kill('SIGTERM');
    plane.controllers.start();
    await shop.reaches('forbidden', 'Running');
    await shop.remove('forbidden');
  });

  /** Rotates through all phases; the backend learns the new password as from its operator. */
  const rotate = async (from: string, to: string, trouble: () => Promise<void> = async () => undefined) => {
    await rotation.advance('stage', { values: { password: to } });
    backend.accepted.add(to);
    const rolling = rotation.advance('promote');
    await trouble();
    await rolling;
    await rotation.advance('verify');
    await rotation.advance('retire');
    backend.accepted.delete(from);
    const environments = await Promise.all(
      (await fleet.view.running('web')).map(({ id }) => fleet.view.environment(id)),
    );
    expect(environments.map(({ DB_password }) => DB_password === to)).to.deep.equal([true, true]);
  };

  it('[3.16 3.18 4.10] are rotated without one failed log-in', async () => {
    const before = backend.logins.welcome;
    await rotate(passwords[0].value, passwords[1].value);
    const refused = await rotation.ask({ phase: 'verify' });
    expect(!refused.ok && refused.rejections[0]?.code).to.equal('rotation_transition_invalid');
    expect((await shop.show('web')).secretsVersion).to.equal(1);
    const path = '/api/v1/archives/deployments/web';
    const { revisions } = unwrap(await shop.client.request<{ revisions: ArchivedRevision[] }>('GET', path));
    expect(revisions.at(-1)).to.include({ change: 'rotate', secretsVersion: 1 });
    await until('more log-ins', async () => backend.logins.welcome > before + 20);
    expect(backend.logins.denied).to.equal(0);
  });

  itDeep('are rotated without one failed log-in while the parts are killed one after the other', async () => {
    await rotate(passwords[1].value, passwords[2].value, async () => {
      await plane.controllers.restart('SIGKILL');
      await machine.agent.restart('SIGKILL');
      await plane.api.restart('SIGKILL');
    });
    expect((await shop.show('web')).secretsVersion).to.equal(2);
    expect(backend.logins.denied).to.equal(0);
    const { welcome } = backend.logins;
    await until('log-ins with the last password', async () => backend.logins.welcome > welcome + 10);
    expect(backend.logins.denied).to.equal(0);
  });

  it('[2.4.17] come to the agent in the answer to its ticket, and in nothing else that it receives or sends', async () => {
    const asked = link.places.map(({ name }) => name);
    expect(asked).to.include.members(['GET /agent/v1/assignments, answer', 'POST /agent/v1/reports, request']);
    const found = findCanaries(passwords, link.places);
    expect(new Set(found.map(({ place }) => place))).to.deep.equal(new Set(['POST /agent/v1/environment, answer']));
    const { secretsVersion } = await shop.show('web');
    expect(new Set(found.map(({ canary: name }) => name)).size).to.equal(1 + secretsVersion);
  });

  it('[2.4.18] are found nowhere but in the engine', async () => {
    const events = await shop.client.all('/api/v1/events');
    expect(events.ok).to.equal(true);
    const answers = { name: 'answers of the API', bytes: Buffer.concat(heard) };
    expect(await findLeaks(plane, passwords, [answers])).to.deep.equal([]);
    await shop.remove('web');
  });
});
