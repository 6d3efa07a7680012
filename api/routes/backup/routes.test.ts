import { expect } from 'chai';
import sinon from 'sinon';

import type { ArchivedRevision } from '../../../crds/archive/index.js';
import { type Backup, computeBackupChecksum } from '../../../crds/backup/index.js';
import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { putFormerDeployment } from '../../../pkg/history/index.js';
import { encode, replace, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';
import { machine1, machine2, RejectionLab } from '../deployment/rejection-lab.testing.js';

/** A tenant of one installation. */
class Installation {
  readonly lab: ApiLab;
  #token = '';

  constructor(settings: ConstructorParameters<typeof ApiLab>[0] = {}) {
    this.lab = new ApiLab(settings);
  }

  async start(): Promise<this> {
    await this.lab.start();
    this.#token = await this.lab.tenantToken(this.lab.a, 'deployer');
    return this;
  }

  ask(method: string, path: string, body?: unknown, headers = {}) {
    return this.lab.ask(method, `/api/v1/${path}`, {
      token: this.#token,
      headers,
      ...(body !== undefined && { body }),
    });
  }

  async accept(method: string, path: string, body?: unknown) {
    const answer = await this.ask(method, path, body);
    expect(answer.status, answer.text).to.be.below(300);
    return answer;
  }

  async load(name: string) {
    await this.lab.cache.barrier();
    return this.lab.cache.get(keys.deployment(this.lab.a, name))!;
  }

  async hash(name: string) {
    return value<StoredDeployment>(await this.load(name)).metadata.specHash;
  }

  /** Deletes a deployment as the replica keeper does once its containers are gone. */
  async remove(name: string) {
    await this.accept('DELETE', `deployments/${name}`);
    const entry = await this.load(name);
    const former = putFormerDeployment(this.lab.cache, value<StoredDeployment>(entry));
    const guards = [{ key: entry.key, at: entry.revision }];
    await this.lab.store.commit({ guards, puts: [former], deletes: [entry.key] });
    await this.lab.cache.barrier();
  }

  async backUp(deploymentName: string): Promise<Backup> {
    const { body } = await this.accept('POST', 'backups', { deploymentName });
    return body as unknown as Backup;
  }

  async history(name: string) {
    const { body } = await this.accept('GET', `archives/deployments/${name}`);
    return (body['revisions'] as readonly ArchivedRevision[]).map(({ revision, change }) => [revision, change]);
  }
}

const toFile = (backup: object) => {
  const { metadata: _, alterations: __, warnings: ___, ...file } = backup as Record<string, unknown>;
  return file as unknown as Backup;
};
const spec = { environment: { MODE: 'a' }, placement: { residency: { country: 'DE' } }, labels: { team: 'a' } };

describe('backups over HTTP', () => {
  let here: Installation;
  before(async () => {
    here = await new Installation().start();
  });
  after(() => here.lab.stop());

  it('[2.8.11 4.22] hold spec, hash, author, history, and a checksum over all of it', async () => {
    await here.accept('POST', 'deployments', webDeployment('held', spec));
    await here.accept('PUT', 'deployments/held', { replicas: 4 });
    const created = await here.accept('POST', 'backups', { deploymentName: 'held' });
    expect(created.status).to.equal(201);
    const backup = toFile(created.body);
    const stored = value<StoredDeployment>(await here.load('held'));
    const { metadata, ...wanted } = stored;
    expect(backup).to.deep.include({
      deploymentName: 'held',
      specHash: metadata.specHash,
      secretsVersion: 0,
      spec: wanted,
      scalingPolicy: null,
      canaryState: null,
      revisionsOmitted: 0,
    });
    expect(backup.revisions.map(({ revision }) => revision)).to.deep.equal([1, 2]);
    expect(backup.checksum).to.equal(computeBackupChecksum(backup));
    expect(backup.id).to.match(/^bak_[0-9a-z]{26}$/);
    const { text } = await here.lab.ask('GET', '/metrics');
    expect(text).to.match(/^mooring_events_total\{type="backup.created",reason="\w+"\} 1$/m);
    expect(text).to.contain('mooring_events_total{type="deployment.created",reason="created"} 1\n');
    expect(text).to.contain('mooring_events_total{type="deployment.updated",reason="updated"} 1\n');
    const shown = await here.accept('GET', `backups/${backup.id}`);
    expect(toFile(shown.body)).to.deep.equal(backup);
    const { body } = await here.accept('GET', 'backups');
    const [listed] = (body['items'] as Record<string, unknown>[]).filter(({ id }) => id === backup.id);
    expect(listed)
      .to.include({ checksum: backup.checksum, revisionCount: 2 })
      .and.not.have.any.keys('spec', 'revisions');
    const events = await here.accept('GET', 'events?type=backup.created');
    expect((events.body['items'] as { subject: object }[])[0]!.subject).to.deep.equal({
      kind: 'Backup',
      name: 'held',
      id: backup.id,
    });
  });

  it('are not kept in memory, and are gone when they are deleted', async () => {
    await here.accept('POST', 'deployments', webDeployment('short'));
    const { id } = await here.backUp('short');
    await here.lab.cache.barrier();
    expect(here.lab.cache.get(keys.backupContent(here.lab.a, id))).to.equal(undefined);
    const dryRun = await here.accept('DELETE', `backups/${id}?dryRun=true`);
    expect(dryRun.body).to.include({ dryRun: true, change: 'delete' });
    const { headers } = await here.accept('GET', `backups/${id}`);
    const stale = await here.ask('DELETE', `backups/${id}`, undefined, { 'if-match': '"1"' });
    expect([stale.status, stale.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    const gone = await here.ask('DELETE', `backups/${id}`, undefined, { 'if-match': headers.get('etag') });
    expect(gone.status, gone.text).to.equal(200);
    for (const [method, path] of [
      ['GET', `backups/${id}`],
      ['DELETE', `backups/${id}`],
      ['POST', `backups/${id}/restore`],
    ] as const) {
      const { status, body } = await here.ask(method, path);
      expect([status, body['code'], body['field']]).to.deep.equal([404, 'resource_not_found', 'id']);
    }
    expect(await here.lab.store.get(keys.backupContent(here.lab.a, id))).to.equal(undefined);
  });

  it('[4.21] bring a deleted deployment back with the same hash, as the next revision of its name', async () => {
    await here.accept('POST', 'deployments', webDeployment('lost', spec));
    const hash = await here.hash('lost');
    const { id } = await here.backUp('lost');
    await here.remove('lost');
    const dryRun = await here.accept('POST', `backups/${id}/restore?dryRun=true`);
    expect(dryRun.body).to.include({ dryRun: true, change: 'create' });
    expect(await here.load('lost')).to.equal(undefined);
    const restored = await here.ask('POST', `backups/${id}/restore`);
    expect(restored.status, restored.text).to.equal(201);
    expect(await here.hash('lost')).to.equal(hash);
    expect(await here.history('lost')).to.deep.equal([
      [1, 'create'],
      [2, 'delete'],
      [3, 'restore'],
    ]);
    const events = await here.accept('GET', 'events?type=backup.restored');
    const [event] = events.body['items'] as { message: string; subject: { id: string } }[];
    expect(event!.subject.id).to.equal(id);
    expect(event!.message).to.match(/^deployment lost was restored by token .*backup bak_/);
  });

  it('[4.21] bring a changed deployment back: every field of the backup, and no other', async () => {
    await here.accept('POST', 'deployments', webDeployment('changed', spec));
    const hash = await here.hash('changed');
    const { id } = await here.backUp('changed');
    await here.accept('PUT', 'deployments/changed', {
      ...spec,
      replicas: 9,
      labels: null,
      placement: null,
      command: ['x'],
    });
    const before = await here.lab.store.revision();
    const stale = await here.ask('POST', `backups/${id}/restore`, undefined, { 'if-match': '"1"' });
    expect([stale.status, stale.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    expect(await here.lab.store.revision()).to.equal(before);
    const restored = await here.accept('POST', `backups/${id}/restore`);
    expect(restored.status).to.equal(200);
    expect(await here.hash('changed')).to.equal(hash);
    const [, , last] = await here.history('changed');
    expect(last).to.deep.equal([3, 'restore']);
    const again = await here.accept('POST', `backups/${id}/restore`);
    expect(again.body['metadata']).to.include({ generation: 3 });
  });

  it('never lower secretsVersion', async () => {
    await here.accept('POST', 'deployments', webDeployment('turned'));
    const { id } = await here.backUp('turned');
    const entry = await here.load('turned');
    await replace(here.lab.store, entry, { ...value<StoredDeployment>(entry), replicas: 5, secretsVersion: 4 });
    expect((await here.accept('POST', `backups/${id}/restore`)).body).to.include({ replicas: 2, secretsVersion: 4 });
    await here.remove('turned');
    expect((await here.accept('POST', `backups/${id}/restore`)).body).to.include({ secretsVersion: 4 });

    // Deleted after it was found: the second barrier of the request is the one before it is judged.
    const { cache } = here.lab;
    const barrier = sinon.stub(cache, 'barrier').callThrough();
    barrier.onSecondCall().callsFake(async () => {
      barrier.restore();
      await here.remove('turned');
    });
    const again = await here.accept('POST', `backups/${id}/restore`);
    expect([again.status, again.body['secretsVersion']]).to.deep.equal([201, 4]);
  });

  it('create nothing in place of a deployment of a named revision that was deleted', async () => {
    await here.accept('POST', 'deployments', webDeployment('vanished'));
    const { id } = await here.backUp('vanished');
    const { revision: seen } = await here.load('vanished');
    await here.remove('vanished');
    const before = await here.lab.store.revision();
    for (const query of ['', '?dryRun=true']) {
      const path = `backups/${id}/restore${query}`;
      const { status, body } = await here.ask('POST', path, undefined, { 'if-match': `"${seen}"` });
      expect([status, body['code'], body['field']]).to.deep.equal([412, 'revision_mismatch', 'If-Match']);
    }
    expect(await here.lab.store.revision()).to.equal(before);
  });

  it('are judged again when they are restored, and store nothing when they are refused', async () => {
    const settings = { reservedNames: ['etcd', 'renamed'] };
    const strict = await new Installation({ settings }).start();
    try {
      await here.accept('POST', 'deployments', webDeployment('renamed'));
      const file = toFile(await here.backUp('renamed'));
      await strict.accept('POST', 'backups/import', file);
      const before = await strict.lab.store.revision();
      const { status, body } = await strict.ask('POST', `backups/${file.id}/restore`);
      expect([status, body['code'], body['field']]).to.deep.equal([422, 'reserved_infrastructure_name', 'name']);
      expect(await strict.lab.store.revision()).to.equal(before);
    } finally {
      await strict.lab.stop();
    }
  });

  it('that name a node are refused with the codes of a node that is not there, and store nothing', async () => {
    const home = new RejectionLab();
    await home.start();
    const bare = await new Installation().start();
    try {
      const make = async (path: string, body: unknown, method = 'POST') =>
        (await home.ask({ method, path, body })).body;
      const document = webDeployment('pinned', { nodeId: 'machine-1' });
      await make('/api/v1/deployments', document);
      const file = toFile(await make('/api/v1/backups', { deploymentName: 'pinned' }));
      expect(file.spec.nodeId).to.equal(machine1);
      const restored = await home.ask({ path: `/api/v1/backups/${file.id}/restore` });
      expect(restored.status, restored.text).to.equal(200);

      await bare.accept('POST', 'backups/import', file);
      const refuse = async (query: string) => {
        const before = await bare.lab.store.revision();
        const { body } = await bare.ask('POST', `backups/${file.id}/restore${query}`);
        expect(await bare.lab.store.revision()).to.equal(before);
        return [body['code'], body['field']];
      };
      expect(await refuse('')).to.deep.equal(['node_candidates_unresolvable', 'nodeId']);
      expect(await refuse('?dryRun=true')).to.deep.equal(['node_candidates_unresolvable', 'nodeId']);
      await bare.lab.token({ kind: 'node', tenant: bare.lab.a, node: machine2, nodeName: 'machine-2' });
      expect(await refuse('')).to.deep.equal(['node_not_a_placement_candidate', 'nodeId']);
    } finally {
      await home.stop();
      await bare.lab.stop();
    }
  });

  it('are verified when they are restored', async () => {
    await here.accept('POST', 'deployments', webDeployment('rotten'));
    const { id } = await here.backUp('rotten');
    const content = await here.lab.store.get(keys.backupContent(here.lab.a, id));
    const damaged = encode({ ...value<Backup>(content!), canaryState: { revision: 9 } });
    const guards = [{ key: content!.key, at: content!.revision }];
    await here.lab.store.commit({ guards, puts: [{ key: content!.key, bytes: damaged }], deletes: [] });
    const before = await here.lab.store.revision();
    const { status, body } = await here.ask('POST', `backups/${id}/restore`);
    expect([status, body['code'], body['field']]).to.deep.equal([422, 'backup_checksum_mismatch', 'checksum']);
    expect(await here.lab.store.revision()).to.equal(before);
  });

  it('[4.21] move a deployment to another installation, with the same hash and its history', async () => {
    await here.accept('POST', 'deployments', webDeployment('moved', spec));
    await here.accept('PUT', 'deployments/moved', { replicas: 4 });
    const file = toFile(await here.backUp('moved'));
    const there = await new Installation().start();
    try {
      const sent = await there.accept('POST', 'backups/import', { ...file, metadata: { uid: 'x' } });
      expect([sent.status, (sent.body['alterations'] as object[]).length]).to.deep.equal([201, 1]);
      expect((await there.accept('POST', 'backups/import', file)).status).to.equal(200);
      expect((await there.accept('POST', `backups/${file.id}/restore`)).status).to.equal(201);
      expect(await there.hash('moved')).to.equal(await here.hash('moved'));
      expect(await there.history('moved')).to.deep.equal([
        [1, 'create'],
        [2, 'update'],
        [3, 'restore'],
      ]);
      const back = await there.accept('POST', 'archives/deployments/moved/rollback', { revision: 1 });
      expect(back.body).to.include({ replicas: 2 });
    } finally {
      await there.lab.stop();
    }
  });

  it('of another tenant are answered as if there were none', async () => {
    await here.accept('POST', 'deployments', webDeployment('own'));
    const { id } = await here.backUp('own');
    const token = await here.lab.tenantToken(here.lab.b);
    const other = (method: string, path: string, body?: unknown) =>
      here.lab.ask(method, `/api/v1/backups${path}`, { token, ...(body !== undefined && { body }) });
    for (const answer of [
      await other('GET', `/${id}`),
      await other('DELETE', `/${id}`),
      await other('POST', `/${id}/restore`),
      await other('POST', '', { deploymentName: 'own' }),
    ]) {
      expect(answer.status).to.equal(404);
    }
    expect((await other('GET', '')).body['items']).to.deep.equal([]);
  });

  it('are limited by how much they hold together, also when many are created at once', async () => {
    const there = await new Installation().start();
    try {
      const { lab } = there;
      await there.accept('POST', 'deployments', webDeployment('big', spec));
      await there.backUp('big');
      const { body: listed } = await there.accept('GET', 'backups');
      const [{ bytes }] = listed['items'] as [{ bytes: number }];
      const record = (await lab.store.get(keys.tenant(lab.a)))!;
      await replace(lab.store, record, { ...value<object>(record), quotas: { backupBytes: bytes * 4 } });
      await lab.cache.barrier();
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => there.ask('POST', 'backups', { deploymentName: 'big' })),
      );
      const refused = answers.filter(({ status }) => status !== 201);
      expect(answers.length - refused.length, 'stored').to.equal(3);
      for (const { status, body } of refused) {
        expect([status, body['code'], body['field']]).to.deep.equal([409, 'quota_reached', 'deploymentName']);
        expect(body['expected']).to.equal(`at most ${bytes * 4} bytes of backups of this tenant`);
      }
      const quotas = await lab.ask('GET', `/api/v1/tenants/${lab.a}/quotas`, {
        token: await lab.tenantToken(lab.a, 'viewer'),
      });
      expect(JSON.stringify(quotas.body)).to.include('backupBytes');
      const { id } = (listed['items'] as [{ id: string }])[0];
      await there.accept('DELETE', `backups/${id}`);
      await there.accept('POST', 'backups', { deploymentName: 'big' });
    } finally {
      await there.lab.stop();
    }
  });

  it('are limited by their quota, also when many are created at once', async () => {
    const { lab } = here;
    await here.accept('POST', 'deployments', webDeployment('many'));
    const record = (await lab.store.get(keys.tenant(lab.a)))!;
    const used = (await lab.store.list(ranges.of(ranges.backups, lab.a))).entries.length;
    await replace(lab.store, record, { ...value<object>(record), quotas: { backups: used + 3 } });
    await lab.cache.barrier();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => here.ask('POST', 'backups', { deploymentName: 'many' })),
    );
    expect(answers.filter(({ status }) => status === 201)).to.have.length(3);
    const [refused] = answers.filter(({ status }) => status !== 201);
    expect([refused!.status, refused!.body['code']]).to.deep.equal([409, 'quota_reached']);
    const now = (await lab.store.get(keys.tenant(lab.a)))!;
    await replace(lab.store, now, value<object>(record));
    await lab.cache.barrier();
  });

  describe('that are refused, and store nothing:', () => {
    let file: Backup;
    before(async () => {
      await here.accept('POST', 'deployments', webDeployment('base'));
      file = toFile(await here.backUp('base'));
    });
    const sign = (backup: Backup): Backup => ({ ...backup, checksum: computeBackupChecksum(backup) });
    const withSpec = (change: object): Backup => {
      const changed = { ...file.spec, ...change } as Backup['spec'];
      return sign({ ...file, spec: changed, specHash: hashSpec(changed) });
    };
    const secret = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', rotation: 'restart' };
    const revision = (change: object) => ({ ...file.revisions[0]!, ...change }) as ArchivedRevision;
    const cases: readonly [what: string, code: string, field: string, make: () => unknown, path?: string][] = [
      [
        'a deployment that is not there',
        'deployment_not_found',
        'deploymentName',
        () => ({ deploymentName: 'none' }),
        '',
      ],
      ['no name', 'field_invalid', 'deploymentName', () => ({}), ''],
      ['a name that is none', 'field_invalid', 'deploymentName', () => ({ deploymentName: '../x' }), ''],
      ['an unknown field', 'field_unknown', 'volumes', () => ({ deploymentName: 'base', volumes: true }), ''],
      ['an edited file', 'backup_checksum_mismatch', 'checksum', () => ({ ...file, createdBy: 'someone' })],
      [
        'an edited spec',
        'backup_checksum_mismatch',
        'specHash',
        () => ({ ...file, spec: { ...file.spec, replicas: 9 } }),
      ],
      ['another backup of the same id', 'backup_already_exists', 'id', () => withSpec({ replicas: 9 })],
      ['a file that is a list', 'field_invalid', 'body', () => []],
      ['an id of something else', 'field_invalid', 'id', () => sign({ ...file, id: `dep_${'1'.repeat(26)}` })],
      ['an unknown field of a file', 'field_unknown', 'extra', () => ({ ...file, extra: 1 })],
      ['another name', 'field_invalid', 'spec.name', () => withSpec({ name: 'other' })],
      ['a spec with an unknown field', 'field_unknown', 'spec.bogus', () => withSpec({ bogus: 1 })],
      [
        'a credential in the environment',
        'plaintext_credential_in_environment',
        'spec.environment.DB_PASSWORD',
        () => withSpec({ environment: { DB_PASSWORD: 'hunter2' } }),
      ],
      [
        'material of a secret',
        'secret_material_would_persist',
        'spec.secrets[0].values',
        () => withSpec({ secrets: [{ ...secret, values: { a: 'hunter2' } }] }),
      ],
      [
        'an order to generate material in its history',
        'secret_generate_would_persist',
        'revisions[0].spec.secrets[0].generate',
        () => {
          const past = {
            ...file.spec,
            secrets: [{ ...secret, generate: { keys: ['a'] } }],
          } as unknown as Backup['spec'];
          return sign({ ...file, revisions: [revision({ spec: past, specHash: hashSpec(past) })] });
        },
      ],
      [
        'a history with a gap',
        'field_invalid',
        'revisions[1].revision',
        () => sign({ ...file, revisions: [revision({}), revision({ revision: 3 })] }),
      ],
      [
        'a history that is larger than one that is made here',
        'field_invalid',
        'revisions',
        () => {
          const alterations = [{ field: 'image', from: 'x'.repeat(600 * 1024), to: null, why: '' }];
          return sign({ ...file, revisions: [revision({ alterations })] });
        },
      ],
      [
        'a history of more values than one that is made here',
        'field_invalid',
        'revisions',
        () => {
          const alterations = [{ field: 'image', from: Array.from({ length: 12_001 }, () => 1), to: null, why: '' }];
          return sign({ ...file, revisions: [revision({ alterations })] });
        },
      ],
      [
        'a history with a change that is none',
        'field_invalid',
        'revisions[0].change',
        () => sign({ ...file, revisions: [revision({ change: 'hack' })] }),
      ],
    ];
    for (const [what, code, field, make, path = '/import'] of cases) {
      it(`${code}: ${what}`, async () => {
        const { lab } = here;
        await lab.cache.barrier();
        const before = await lab.store.revision();
        const { body, text } = await here.ask('POST', `backups${path}`, make());
        const rejections = body['rejections'] as { code: string; field: string }[];
        expect(
          rejections?.map(each => [each.code, each.field]),
          text,
        ).to.deep.equal([[code, field]]);
        expect(text).to.not.contain('hunter2');
        expect(await lab.store.revision()).to.equal(before);
      });
    }
  });
});
