import { expect } from 'chai';

import { type CredentialPath, toCredentialPath } from '../../pkg/secrets/index.js';
import { type SecretCanary, createCanary, readCommandLines, listFilesBelow, findCanaries } from '../lab/canary.js';
import type { Child } from '../lab/child.js';
import { ControlPlane } from '../lab/control-plane.js';
import { type CrashPlan, dieAt } from '../lab/dying-at.js';
import { Fleet, type EnrolledMachine } from '../lab/fleet.js';
import { LoginServer } from '../lab/login-server.js';
import { SecretsView } from '../lab/secrets-view.js';
import { RotationClient, TenantClient, unwrap } from '../lab/tenant-client.js';
import { until } from '../../dev/testing/index.js';

const PATH = 'deployments/web-db';
/** Log-ins that a container makes after its stop signal: they fail when its password is destroyed too early. */
const LINGER = 6;

describe('a rotation, with a process killed at every step', function () {
  const backend = new LoginServer();
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let machine: EnrolledMachine;
  let rotation: RotationClient;
  let view: SecretsView;
  let path: CredentialPath;
  const passwords: SecretCanary[] = [createCanary('first')];
  let password = passwords[0]!.value;
  let deaths = 0;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_LEADER_LEASE_SECONDS: '2' });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    machine = await fleet.enrol(shop.client, 'shop-1');
    rotation = new RotationClient(shop, 'web');
    view = await SecretsView.open(plane);
    path = toCredentialPath(shop.id, PATH);
    const image = await fleet.image('1');
    await backend.open(fleet, shop, image);

    backend.accepted.add(password);
    unwrap(await shop.client.request('PUT', `/api/v1/secrets/${PATH}`, { body: { values: { password } } }));
    await shop.apply({ name: 'web', replicas: 2, ...backend.clients(image, PATH, LINGER) });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    console.log(`      ${deaths} deaths, ${backend.logins.welcome} log-ins, ${backend.logins.denied} failed`);
    backend.close();
    await view?.close();
    await fleet?.stop();
    await plane?.stop();
  });

  const inContainers = async () => {
    const running = await fleet.view.running('web');
    return Promise.all(running.map(async ({ id }) => (await fleet.view.environment(id))['DB_password'] ?? ''));
  };
  /** No container that runs has a password that the secrets store or the backend has given up. */
  const whileDead = async () => {
    deaths++;
    const held = await inContainers();
    const kept = [...(await view.values(path, 'password')).values()];
    expect(held.filter(each => !kept.includes(each) || !backend.accepted.has(each))).to.deep.equal([]);
  };
  const staged = async (material: Readonly<Record<string, unknown>>) => {
    await rotation.advance('stage', material);
    const { pending = 0 } = await view.state(path);
    const next = (await view.values(path, 'password')).get(pending)!;
    passwords.push({ name: `version ${pending}`, value: next });
    backend.accepted.add(next);
    return next;
  };
  /** Must hold after every rotation: all containers have the same password, and no log-in ever failed. */
  const isWell = async (versions: number, before: { readonly secretsVersion: number }) => {
    expect(await inContainers()).to.deep.equal([password, password]);
    expect([...(await view.values(path, 'password')).values()]).to.deep.equal([password]);
    expect((await shop.show('web')).secretsVersion).to.equal(before.secretsVersion + versions);
    const { welcome } = backend.logins;
    await until('more log-ins', async () => backend.logins.welcome > welcome + 4);
    expect(backend.logins.denied).to.equal(0);
  };
  const rotate = async (part: Child, at: CrashPlan['at'], material = fresh()) => {
    const before = await shop.show('web');
    await dieAt({ part, at, whileDead }, async () => {
      const next = await staged(material);
      for (const phase of ['promote', 'verify', 'retire']) await rotation.advance(phase);
      backend.accepted.delete(password);
      password = next;
    });
    await isWell(1, before);
  };
  const fresh = (): Readonly<Record<string, unknown>> => ({ values: { password: createCanary('next').value } });

  it('loses no log-in when the agent dies', () => {
    const takingDown = ['agent.stopping', 'agent.stopped', 'agent.removed'] as const;
    return rotate(machine.agent, [...takingDown, 'agent.secrets_fetched', 'agent.created', 'agent.started']);
  });

  const asking = ['rotation.asking', 'rotation.asked'] as const;
  it('loses no log-in when the API server dies', () => {
    const stage = [...asking, 'rotation.supplying', 'rotation.supplied'] as const;
    const promote = [...asking, 'delivery.redeeming', 'delivery.redeemed'] as const;
    return rotate(plane.api, [...stage, ...promote, ...asking, ...asking]);
  });

  const changing = ['rotation.secret_changing', 'rotation.secret_changed'] as const;
  const raising = ['rotation.raising', 'rotation.raised', 'rotation.waiting', 'rotation.waited'] as const;
  const resolving = ['resolver.resolved', 'resolver.stamped'] as const;
  const holding = ['rotation.holding', 'rotation.held'] as const;
  it('[3.16] loses no log-in when the controllers die', () => {
    const stage = [...changing, ...holding];
    const promote = [...changing, ...raising, ...resolving, ...holding];
    const retire = [...changing, ...holding];
    const material = { generate: { keys: ['password'] } };
    return rotate(plane.controllers, [...stage, ...promote, ...holding, ...retire], material);
  });

  it('loses no log-in when it is aborted, and the abort crashes too', async () => {
    const before = await shop.show('web');
    const next = await staged(fresh());
    await rotation.advance('promote');
    const loops = { part: plane.controllers, at: [...changing, ...raising, ...changing, ...holding], whileDead };
    const server = { part: plane.api, at: asking, whileDead };
    await dieAt(loops, () => dieAt(server, () => rotation.advance('abort')));
    await shop.reaches('web', 'Running');
    backend.accepted.delete(next);
    await isWell(2, before);
  });

  it('leaves no password anywhere but in the engine', async () => {
    const places = [...(await listFilesBelow(plane.folder, ['engine'])), ...(await readCommandLines())];
    expect(passwords).to.have.length(5);
    expect(findCanaries(passwords, places)).to.deep.equal([]);
  });
});
