import { expect } from 'chai';

import type { UnresolvedRecord } from '../../crds/delivery/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { toCredentialPath, toSecretDocument } from '../../pkg/secrets/index.js';
import { destroyVersion } from '../../pkg/secrets/destroy-version.testing.js';
import { AT, makeDeployment, TENANT, TestCluster } from '../test-cluster.testing.js';

const PATH = 'deployments/web-db';
const web = (change: Partial<StoredDeployment> = {}) =>
  makeDeployment({ secrets: [{ name: 'DB', vault_path: PATH, anchor: 'process', rotation: 'restart' }], ...change });

describe('controllers, for a deployment with secrets,', () => {
  let cluster: TestCluster;
  let stop: AbortController;

  beforeEach(async () => {
    cluster = new TestCluster();
    stop = cluster.controllers('one');
    await cluster.enrol('n1');
    await cluster.clock.pass(1_000);
  });
  afterEach(async () => {
    stop.abort();
    cluster.close();
    await cluster.clock.pass(20_000);
  });

  const write = (values: Readonly<Record<string, string>>, path = PATH, after = 0) =>
    cluster.secrets.write(toCredentialPath(TENANT, path), { document: toSecretDocument(values), after, as: 'current' });
  const replicas = () => cluster.all<Replica>(ranges.replicas);
  const unresolved = () => cluster.get<UnresolvedRecord>(keys.unresolved(TENANT, 'web'));
  const events = async () =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(({ type }) => type === 'secret.unresolved');

  it('do not call material missing that is being written with its document', async () => {
    const path = toCredentialPath(TENANT, PATH);
    await cluster.secrets.write(path, { document: toSecretDocument({ password: 'x' }), after: 0, as: 'pending' });
    const writes = [{ path: PATH, version: 1 }];
    const intent = { state: 'stored', tenant: TENANT, subject: 'web', operation: 'op', at: AT, writes };
    await cluster.put(keys.intent(TENANT, 'op_1'), intent);
    await cluster.put(keys.deployment(TENANT, 'web'), web());
    await cluster.clock.pass(60_000);

    expect((await events()).map(({ message }) => message)).to.deep.equal([]);
    expect((await replicas()).every(({ resolved }) => resolved !== undefined)).to.equal(true);
  });

  it('stamp its replicas with the versions found, and no value', async () => {
    await write({ user: 'shop', password: 'canary-1' });
    await write({ user: 'shop', password: 'canary-2' }, PATH, 1);
    await cluster.put(keys.deployment(TENANT, 'web'), web());
    await cluster.clock.pass(2_000);

    expect((await replicas()).map(({ resolved }) => resolved?.versions)).to.deep.equal([{ [PATH]: 2 }, { [PATH]: 2 }]);
    expect((await cluster.status())?.phase).to.equal('Running');
    const condition = (await cluster.status())?.conditions.find(({ type }) => type === 'SecretsResolved');
    expect(condition).to.include({ status: 'True' });
    const everything = (await cluster.store.list('')).entries.map(({ bytes }) => bytes.toString()).join('\n');
    expect(everything).not.to.contain('canary');
  });

  const troubles: readonly [
    name: string,
    trouble: Partial<StoredDeployment>,
    reason: string,
    heal?: () => Promise<unknown>,
  ][] = [
    ['a missing document', {}, 'secret_missing', () => write({ password: 'x' })],
    [
      'a missing key',
      { composedSecrets: { URL: '{{secret.web-db.url}}' } },
      'secret_missing',
      () => write({ password: 'x', url: 'y' }),
    ],
    [
      '[2.4.10] a path that is not granted',
      { secrets: [{ name: 'DB', vault_path: 'private/web-db', anchor: 'process', rotation: 'restart' }] },
      'secret_forbidden',
    ],
  ];
  for (const [name, trouble, reason, heal] of troubles) {
    it(`[3.13] create no container with ${name}, report it once${heal ? ', and recover' : ''}`, async () => {
      await cluster.put(keys.deployment(TENANT, 'web'), web(trouble));
      await cluster.clock.pass(20_000);

      expect((await replicas()).every(({ resolved, nodeId }) => !resolved && nodeId)).to.equal(true);
      expect(await unresolved()).to.include({ reason, replicas: 2 });
      expect(await cluster.all<Report>(ranges.reports)).to.deep.equal([]);
      const status = await cluster.status();
      expect(status?.phase).to.equal('Degraded');
      expect(status?.conditions.find(({ type }) => type === 'SecretsResolved')).to.include({ status: 'False', reason });
      expect((await events()).map(event => event.reason)).to.deep.equal([reason]);

      if (!heal) return;
      await heal();
      await cluster.clock.pass(6_000);
      expect((await cluster.status())?.phase).to.equal('Running');
      expect(await unresolved()).to.equal(undefined);
    });
  }

  it('[3.14] keep running containers and create none while the secrets store is unavailable, and recover within ten seconds', async () => {
    await write({ password: 'x' });
    await cluster.put(keys.deployment(TENANT, 'web'), web());
    await cluster.clock.pass(5_000);
    const running = await cluster.all<Report>(ranges.reports);
    cluster.secretsAreAway = true;
    const stored = await cluster.get<StoredDeployment>(keys.deployment(TENANT, 'web'));
    await cluster.put(keys.deployment(TENANT, 'web'), { ...stored, replicas: 3 });
    await cluster.clock.pass(120_000);

    expect(await unresolved()).to.include({ reason: 'secret_store_unavailable', replicas: 1 });
    expect((await cluster.status())?.phase).to.equal('Degraded');
    expect(await cluster.all<Report>(ranges.reports)).to.deep.equal(running);
    expect((await events()).map(({ reason }) => reason)).to.deep.equal(['secret_store_unavailable']);

    cluster.secretsAreAway = false;
    await cluster.clock.pass(10_000);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await cluster.all<Report>(ranges.reports)).to.have.length(3);
  });

  it('[2.4.15] keep containers when a new version is written, and give it to later ones', async () => {
    await write({ password: 'x' });
    await cluster.put(keys.deployment(TENANT, 'web'), web());
    await cluster.clock.pass(5_000);
    const before = (await replicas()).map(({ uid }) => uid);
    await write({ password: 'y' }, PATH, 1);
    await cluster.clock.pass(60_000);
    expect((await replicas()).map(({ uid }) => uid)).to.deep.equal(before);

    const stored = await cluster.get<StoredDeployment>(keys.deployment(TENANT, 'web'));
    await cluster.put(keys.deployment(TENANT, 'web'), { ...stored, replicas: 3 });
    await cluster.clock.pass(10_000);
    expect((await replicas()).map(({ resolved }) => resolved?.versions[PATH])).to.deep.equal([1, 1, 2]);
  });

  it('write nothing more while the cause is unchanged', async () => {
    await cluster.put(keys.deployment(TENANT, 'web'), web());
    await cluster.clock.pass(20_000);
    const before = await cluster.store.revision();
    await cluster.clock.pass(30_000);
    const changed = (await cluster.store.list('')).entries.filter(({ revision }) => revision > before);
    expect(changed.map(({ key }) => key).filter(key => !/^(?:leaders|alive)\//.test(key))).to.deep.equal([]);
  });

  it('resolve again when an agent could not fetch the versions found', async () => {
    await write({ password: 'x' });
    cluster.agentsWork = false;
    await cluster.put(keys.deployment(TENANT, 'web'), web({ replicas: 1 }));
    await cluster.clock.pass(2_000);
    const [replica] = await replicas();
    await write({ password: 'y' }, PATH, 1);
    await destroyVersion(cluster.secrets, toCredentialPath(TENANT, PATH), 1);
    await cluster.put(keys.report(TENANT, replica!.nodeId!, replica!.uid), {
      replica: replica!.uid,
      deployment: 'web',
      slot: 0,
      nodeId: replica!.nodeId,
      templateHash: '',
      state: 'failed',
      health: 'none',
      restarts: 0,
      reason: 'secrets_unresolved',
      at: '',
    });
    await cluster.clock.pass(1_000);
    expect((await replicas())[0]?.resolved?.versions).to.deep.equal({ [PATH]: 2 });
  });

  it('delete every record with the deployment', async () => {
    await cluster.put(keys.deployment(TENANT, 'web'), web());
    await cluster.clock.pass(5_000);
    const stored = await cluster.get<StoredDeployment>(keys.deployment(TENANT, 'web'));
    await cluster.put(keys.delivery(TENANT, 'web', 'rep_gone'), { replica: 'rep_gone', nodeId: 'n', uses: [] });
    await cluster.put(keys.deployment(TENANT, 'web'), {
      ...stored,
      metadata: { ...stored!.metadata, deletedAt: '2030-01-02T00:00:00.000Z' },
    });
    await cluster.clock.pass(10_000);
    const left = (await cluster.store.list('')).entries.map(({ key }) => key.split('/')[0]!);
    expect(left.filter(kind => ['deployments', 'replicas', 'unresolved', 'deliveries'].includes(kind))).to.deep.equal(
      [],
    );
  });
});
