import { expect } from 'chai';

import { ranges } from '../../crds/keys/index.js';
import { arm, failpoint, type FailpointName } from '../../pkg/failpoint/index.js';
import { toCredentialPath } from '../../pkg/secrets/index.js';
import { type SecretCanary, createCanary, listFilesBelow, findCanaries } from '../lab/canary.js';
import { ControlPlane } from '../lab/control-plane.js';
import { runJanitorLater } from '../lab/janitor-later.js';
import { SecretsView } from '../lab/secrets-view.js';
import { TenantClient } from '../lab/tenant-client.js';

const DEPLOYMENTS = '/api/v1/deployments';
const CREDENTIALS = ['db', 'mail'] as const;

/** Where the API server dies, and what must have become of the write when all is over. */
const deaths: readonly (readonly [FailpointName, 'neither' | 'both'])[] = [
  ['material.planned', 'neither'],
  ['material.intent_stored', 'neither'],
  ['material.version_written', 'neither'],
  ['material.staged', 'neither'],
  ['material.undoing', 'neither'],
  ['material.undone', 'neither'],
  ['material.record_stored', 'both'],
  ['material.promoted', 'both'],
  ['material.settled', 'both'],
];
/** A transaction that fails is undone by the request itself, which dies of that. */
const armedFor = (point: FailpointName) =>
  point === 'material.undoing' || point === 'material.undone' ? `material.staged=error,${point}=kill` : `${point}=kill`;

describe('secret material that comes with a document, on a real etcd', () => {
  let plane: ControlPlane;
  let shop: TenantClient;
  let view: SecretsView;
  const passwords: SecretCanary[] = [];

  before(async () => {
    plane = await ControlPlane.start({ MOORING_REGISTRY_CHECK: 'false' });
    await plane.controllers.kill('SIGTERM');
    shop = await TenantClient.open(plane, 'shop');
    view = await SecretsView.open(plane);
  });
  after(async () => {
    await view?.close();
    await plane?.stop();
  });

  const newPassword = () => {
    const made = createCanary(`password ${passwords.length}`);
    passwords.push(made);
    return made.value;
  };
  const toDeploymentName = (point: FailpointName) => point.replaceAll(/[._]/g, '-');
  const toPath = (name: string, label: string) => `deployments/${name}-${label}`;
  const document = (name: string, password: string, replicas: number) => ({
    kind: 'Deployment',
    name,
    image: 'registry.example.com/shop/web:1.4.2',
    replicas,
    secrets: CREDENTIALS.map(label => ({
      name: label.toUpperCase(),
      vault_path: toPath(name, label),
      anchor: 'process',
      values: { password },
    })),
  });
  const post = (body: unknown) => shop.client.request('POST', DEPLOYMENTS, { body });
  const put = (name: string, body: unknown) => shop.client.request('PUT', `${DEPLOYMENTS}/${name}`, { body });
  /** What both stores have: how many replicas the record asks for, and the passwords that can be read and that are current. */
  const standing = async (name: string) => {
    const shown = await shop.client.request<{ replicas: number }>('GET', `${DEPLOYMENTS}/${name}`);
    const paths = CREDENTIALS.map(label => toCredentialPath(shop.id, toPath(name, label)));
    const held = await Promise.all(
      paths.map(async path => {
        const { current, pending } = await view.state(path);
        return { values: await view.values(path, 'password'), current, pending };
      }),
    );
    return { replicas: shown.ok ? shown.value.replicas : undefined, held };
  };
  const intents = async () => (await view.store.list(ranges.intents)).entries.length;
  /** Sends a request to a server that dies of it. */
  const killAt = async (point: FailpointName, send: () => Promise<unknown>) => {
    await plane.api.restart('SIGKILL', armedFor(point));
    await plane.serving();
    const answered = await send().then(
      () => true,
      () => false,
    );
    await plane.api.died(point, 60_000);
    expect(answered).to.equal(false);
  };
  /** The janitor, who fails once at each of its own steps. */
  const afterTheJanitor = async (steps: readonly FailpointName[]) => {
    await plane.api.restart('SIGKILL');
    await plane.serving();
    const disarm = arm(steps.map(step => `${step}=error`).join(','));
    await runJanitorLater(view);
    // Whatever did not fail yet would fail now.
    for (const step of steps) failpoint(step);
    disarm();
  };
  const janitorSteps = ['janitor.marked', 'janitor.destroyed', 'janitor.promoted', 'janitor.finished'] as const;

  it('is in both stores or in neither, wherever the server dies when it is new', async () => {
    const password = newPassword();
    for (const [point] of deaths) await killAt(point, () => post(document(toDeploymentName(point), password, 1)));
    expect(await intents()).to.equal(deaths.length - 2);

    await afterTheJanitor(janitorSteps);
    const once = { values: new Map([[1, password]]), current: 1, pending: undefined };
    const none = { values: new Map(), current: undefined, pending: undefined };
    for (const [point, outcome] of deaths) {
      const isThere = outcome === 'both';
      expect(await standing(toDeploymentName(point)), point).to.deep.equal({
        replicas: isThere ? 1 : undefined,
        held: isThere ? [once, once] : [none, none],
      });
    }
  });

  it('is in both stores or in neither, wherever the server dies when it replaces another', async () => {
    const [before, after] = [newPassword(), newPassword()];
    const nameFor = (point: FailpointName) => `next-${toDeploymentName(point)}`;
    for (const [point] of deaths) expect((await post(document(nameFor(point), before, 1))).ok).to.equal(true);
    for (const [point] of deaths) {
      await killAt(point, () => put(nameFor(point), document(nameFor(point), after, 2)));
    }

    await afterTheJanitor([]);
    for (const [point, outcome] of deaths) {
      const { replicas, held } = await standing(nameFor(point));
      const isReplaced = outcome === 'both';
      const current = isReplaced ? after : before;
      expect(replicas, point).to.equal(isReplaced ? 2 : 1);
      expect(
        held.map(each => each.values.get(each.current ?? 0)),
        point,
      ).to.deep.equal([current, current]);
      expect(
        held.map(({ pending }) => pending),
        point,
      ).to.deep.equal([undefined, undefined]);
      expect(
        held.some(({ values }) => [...values.values()].includes(after)),
        point,
      ).to.equal(isReplaced);
    }
  });

  it('leaves no version behind when its record cannot be stored', async () => {
    await plane.api.restart('SIGKILL', 'material.staged=error');
    await plane.serving();
    const failed = await post(document('failing', newPassword(), 1));
    expect(failed.ok ? 0 : failed.status).to.equal(500);
    const { replicas, held } = await standing('failing');
    expect(replicas).to.equal(undefined);
    expect(held.map(({ values }) => values.size)).to.deep.equal([0, 0]);
    expect(await intents()).to.equal(0);
  });

  it('leaves no version of a write that lost the race', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `raced-${round}`;
      const passwords = [0, 1, 2].map(() => createCanary('raced').value);
      const answers = await Promise.all(passwords.map(password => post(document(name, password, 1))));
      const winners = passwords.filter((_, position) => answers[position]?.ok);
      expect(winners).to.have.length(1);
      const { held } = await standing(name);
      expect(held.map(({ values }) => [...values.values()])).to.deep.equal([winners, winners]);
      expect(held.map(({ pending }) => pending)).to.deep.equal([undefined, undefined]);
    }
    expect(await intents()).to.equal(0);
  });

  it('is nowhere to be read', async () => {
    expect(findCanaries(passwords, await listFilesBelow(plane.folder))).to.deep.equal([]);
  });
});
