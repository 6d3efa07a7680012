import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import { computeTemplateHash, type Replica, toContainerTemplate } from '../../crds/replica/index.js';
import { applyJsonPatch } from '../../crds/rejections/json-patch.js';
import { create, value } from '../../pkg/store/index.js';
import { ApiLab } from '../api-lab.testing.js';
import { RejectionLab, entry, machine1, machine2, ready, web } from '../routes/deployment/rejection-lab.testing.js';

const TRY = '/api/v1/deployments?dryRun=true';

describe('dry runs', () => {
  const rejectionLab = new RejectionLab();
  before(() => rejectionLab.start());
  after(() => rejectionLab.stop());

  const everything = web({
    name: 'trial',
    replicas: 1,
    nodeId: 'machine-1',
    healthCheck: { command: ['/bin/check'] },
    secrets: [
      entry({ anchor: `volume(${ready})`, generate: { keys: ['user', 'password'] } }),
      entry({ name: 'ADMIN', vault_path: 'deployments/db-admin' }),
      entry({ name: 'MAIL', vault_path: 'resources/mail', anchor: 'external' }),
    ],
    composedSecrets: { URL: '{{secret.web-db.user}}', HINT: '{{secret.db-admin.hint}}' },
    volumes: [{ volume_id: ready, mountPath: '/data' }],
    networks: ['backend'],
    placement: { residency: { country: 'de' } },
    dependsOn: { db: 'healthy', later: 'started' },
    rollout: { maxSurge: 1 },
  });
  const list = (value: unknown) => value as Readonly<Record<string, unknown>>[];

  it('answer what a new deployment would change, and store nothing', async () => {
    const before = await rejectionLab.stored();
    const { status, body, text } = await rejectionLab.ask({ ...everything, path: TRY });

    expect(status, text).to.equal(200);
    expect(body).to.include({ dryRun: true, change: 'create' });
    expect(body['object']).to.deep.include({ name: 'trial', nodeId: `node_${'1'.repeat(26)}` });
    const altered = list(body['alterations']).map(({ field }) => field);
    expect(altered).to.include.members(['secrets[0].generate', 'volumes[0].volumeId', 'dependsOn', 'healthCheck.type']);
    expect(list(body['warnings']).map(({ code }) => code)).to.deep.equal([
      'dependency_absent',
      'secret_missing',
      'secret_missing',
    ]);
    expect(list(body['secrets']).map(({ path, resolves, missing }) => [path, resolves, missing])).to.deep.equal([
      ['deployments/web-db', true, []],
      ['deployments/db-admin', false, ['hint']],
      ['resources/mail', false, []],
    ]);
    const { candidates, next, unplaced } = body['placement'] as Record<string, unknown>;
    expect(list(candidates).map(({ node }) => node)).to.deep.equal(['machine-1', 'machine-2']);
    expect(list(candidates).every(({ reasons }) => list(reasons).length > 0)).to.equal(true);
    expect([next, unplaced]).to.deep.equal([[], 1]);
    expect(applyJsonPatch({}, body['diff'] as never)).to.deep.equal(body['object']);
    expect(await rejectionLab.stored()).to.equal(before);
  });

  it('answer the difference to the stored deployment', async () => {
    const before = await rejectionLab.stored();
    const change = {
      method: 'PUT',
      path: '/api/v1/deployments/cache?dryRun=true',
      body: { replicas: 3, image: 'web:2' },
    };
    const { body } = await rejectionLab.ask(change);
    expect(body['change']).to.equal('update');
    expect(list(body['diff']).map(({ op, path, value }) => [op, path, value])).to.have.deep.members([
      ['replace', '/replicas', 3],
      ['replace', '/image', 'web:2'],
    ]);
    const same = await rejectionLab.ask({ ...change, body: { replicas: 1 } });
    expect([same.body['change'], same.body['diff']]).to.deep.equal(['none', []]);
    expect(await rejectionLab.stored()).to.equal(before);
  });

  it('are refused as the write itself would be', async () => {
    const path = TRY;
    const existing = await rejectionLab.ask({ ...web({ name: 'cache' }), path });
    expect([existing.status, existing.body['code']]).to.deep.equal([409, 'deployment_already_exists']);
    const gone = await rejectionLab.ask({ method: 'PUT', path: '/api/v1/deployments/none?dryRun=true', body: {} });
    expect(gone.body['code']).to.equal('deployment_not_found');
    const unsure = await rejectionLab.ask({ ...web(), path: '/api/v1/deployments?dryRun=maybe' });
    expect(unsure.body['code']).to.equal('query_parameter_invalid');
    const stale = await rejectionLab.ask({
      method: 'PUT',
      path: '/api/v1/deployments/cache?dryRun=true',
      body: { metadata: { revision: '1' } },
    });
    expect([stale.status, stale.body['code']]).to.deep.equal([412, 'revision_mismatch']);
  });

  it('answer a deletion with the object that would be deleted', async () => {
    const before = await rejectionLab.stored();
    const { body } = await rejectionLab.ask({ method: 'DELETE', path: '/api/v1/deployments/cache?dryRun=true' });
    expect([body['change'], body['object']]).to.deep.equal(['delete', null]);
    expect(await rejectionLab.stored()).to.equal(before);
  });

  it('judge jobs and networks', async () => {
    const job = { kind: 'Job', name: 'once', image: 'web:1', nodeId: 'machine-2', secrets: [entry()] };
    const tried = await rejectionLab.ask({ path: '/api/v1/jobs?dryRun=true', body: job });
    expect(tried.body['object']).to.deep.include({ name: 'once', backoffLimit: 3 });
    expect(list(tried.body['secrets'])[0]).to.deep.include({ resolves: false, reason: 'secret_missing' });
    const network = await rejectionLab.ask({
      path: '/api/v1/networks?dryRun=true',
      body: { name: 'front', nodeId: 'machine-1' },
    });
    expect(network.body['object']).to.deep.include({ name: 'front', driver: 'bridge', internal: false });
  });
});

describe('a dry run of a change to what runs', () => {
  const rejectionLab = new RejectionLab();
  before(async () => {
    await rejectionLab.start();
    const { store, cache, a: tenant } = rejectionLab.lab;
    const deployment = value<StoredDeployment>(cache.get(keys.deployment(tenant, 'cache'))!);
    for (const [slot, nodeId] of [machine1, machine2].entries()) {
      const replica: Replica = {
        uid: `rep_${slot}`,
        tenant,
        deployment: 'cache',
        deploymentUid: deployment.metadata.uid,
        slot,
        generation: 1,
        templateHash: computeTemplateHash(deployment),
        template: toContainerTemplate(deployment),
        nodeId,
        createdAt: '',
      };
      await create(store, keys.replica(tenant, 'cache', slot), replica);
    }
    await cache.barrier();
  });
  after(() => rejectionLab.stop());

  const cases: readonly [name: string, body: Readonly<Record<string, unknown>>, recreated: readonly number[]][] = [
    ['another number of replicas', { replicas: 5 }, []],
    ['other labels', { labels: { team: 'shop' } }, []],
    ['other bounds of a rollout', { rollout: { maxSurge: 2 } }, []],
    [
      'constraints, which hold for what is placed next',
      { placement: { constraints: [{ key: 'a', operator: 'Exists' }] } },
      [],
    ],
    ['a residency that one breaks', { placement: { residency: { country: 'DE' } } }, [1]],
    ['a node where one of them is', { nodeId: 'machine-1' }, [1]],
    ['another image', { image: 'web:2' }, [0, 1]],
    ['another variable', { environment: { MODE: 'a' } }, [0, 1]],
    ['a restart', { restartedAt: '2026-01-31T12:00:00Z' }, [0, 1]],
  ];
  for (const [name, change, recreated] of cases) {
    it(`says which replicas are recreated by ${name}`, async () => {
      const request = { method: 'PUT', path: '/api/v1/deployments/cache?dryRun=true', body: change };
      const { status, body, text } = await rejectionLab.ask(request);
      expect(status, text).to.equal(200);
      const nodes = [machine1, machine2];
      expect(body['recreated']).to.deep.equal(recreated.map(slot => ({ replica: slot, nodeId: nodes[slot] })));
    });
  }
});

describe('writes that share a conflict key', () => {
  const rejectionLab = new RejectionLab();
  before(() => rejectionLab.start());
  after(() => rejectionLab.stop());

  const listCodes = (
    answers: readonly { readonly status: number; readonly body: Readonly<Record<string, unknown>> }[],
  ) => answers.map(({ status, body }) => (status < 300 ? 'stored' : body['code']));

  it('never create a dependency cycle together', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `ring-${at}`);
    const next = (at: number) => names[(at + 1) % names.length];
    const answers = await Promise.all(
      names.map((name, at) => rejectionLab.ask(web({ name, dependsOn: [{ name: next(at), condition: 'started' }] }))),
    );
    const codes = listCodes(answers);
    expect(codes.filter(code => code === 'stored')).to.have.length(11);
    expect(codes).to.include('depends_on_cycle');
  });

  it('never put one credential under two namespaces', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => {
        const vault_path = `${at % 2 === 0 ? 'deployments' : 'resources'}/split`;
        return rejectionLab.ask(web({ name: `split-${at}`, secrets: [entry({ vault_path })] }));
      }),
    );
    const codes = listCodes(answers);
    expect(codes.filter(code => code === 'stored')).to.have.length(5);
    expect(codes.filter(code => code === 'secret_path_namespace_split')).to.have.length(5);
  });

  it('[2.6.4] never give one volume two writers', async () => {
    const volumes = [{ volumeId: ready, mountPath: '/data' }];
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => rejectionLab.ask(web({ name: `writer-${at}`, replicas: 1, volumes }))),
    );
    const codes = listCodes(answers);
    expect(codes.filter(code => code === 'stored')).to.have.length(1);
    expect(codes.filter(code => code === 'volume_access_mode_conflict')).to.have.length(7);
  });

  it('write secret material once, in either order', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        rejectionLab.ask(
          web({ name: 'first', secrets: [entry({ vault_path: 'deployments/first', values: { a: 'b' } })] }),
        ),
      ),
    );
    expect(listCodes(answers).filter(code => code === 'stored')).to.have.length(1);
    const { entries } = await rejectionLab.lab.store.list('intents/');
    expect(entries).to.deep.equal([]);
    const { body } = await rejectionLab.ask({
      method: 'PUT',
      path: '/api/v1/secrets/deployments/first?dryRun=true',
      body: { values: { a: 'c' } },
    });
    expect(list(body['diff'] as never).some(({ path }) => path === '/version')).to.equal(true);
  });

  it('are serialised across servers', async () => {
    const { store, keyring, secrets, a } = rejectionLab.lab;
    const others = [0, 1, 2].map(() => new ApiLab({ store, keyring, secrets }));
    for (const other of others) await other.start();
    const token = await rejectionLab.lab.tenantToken(a);
    for (const other of others) await other.cache.barrier();
    const names = Array.from({ length: 9 }, (_, at) => `wide-${at}`);
    const answers = await Promise.all(
      names.map((name, at) => {
        const dependsOn = [{ name: names[(at + 1) % names.length], condition: 'started' }];
        return others[at % 3]!.ask('POST', '/api/v1/deployments', { token, body: web({ name, dependsOn }).body });
      }),
    );
    for (const other of others) await other.stop();
    const codes = listCodes(answers);
    expect(codes.filter(code => code === 'stored')).to.have.length(8);
    expect(codes).to.include('depends_on_cycle');
  });

  const list = (value: unknown) => value as Readonly<Record<string, unknown>>[];
});

describe('every write', () => {
  it('has a dry run that stores nothing and says so', async () => {
    const lab = await new ApiLab().start();
    const admin = (await lab.token({ kind: 'admin' })).text;
    const tenant = await lab.tenantToken(lab.a);
    const { stored: token } = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer' });
    const nodeKey = await create(lab.store, keys.nodeName('mine'), { claims: [{ tenant: lab.a, since: '' }] });
    if (nodeKey.stored) await lab.cache.reached(nodeKey.revision);
    const requests: readonly [token: string, method: string, path: string, body?: unknown][] = [
      [admin, 'POST', '/api/v1/tenants', { name: 'shop' }],
      [admin, 'PUT', `/api/v1/tenants/${lab.a}/quotas`, {}],
      [tenant, 'POST', '/api/v1/tokens', {}],
      [tenant, 'DELETE', `/api/v1/tokens/${token.id}`],
      [tenant, 'POST', '/api/v1/nodes/join-tokens', {}],
      [tenant, 'DELETE', '/api/v1/nodes/mine/claim'],
      [admin, 'POST', '/api/v1/nodes/mine/claims'],
    ];
    const before = await lab.store.revision();
    for (const [asker, method, path, body] of requests) {
      const headers = { 'x-tenant-id': path.endsWith('/claims') ? lab.b : lab.a };
      const sent = body === undefined ? {} : { body };
      const answer = await lab.ask(method, `${path}?dryRun=true`, { token: asker, headers, ...sent });
      expect([answer.status, answer.body['dryRun']], `${path} ${answer.text}`).to.deep.equal([200, true]);
      expect(answer.text).not.to.match(/m(?:tk|jn|ad)_/);
    }
    expect(await lab.store.revision()).to.equal(before);
    const takers = lab.api.routes.filter(({ method, path }) => method !== 'GET' && path.startsWith('/api/'));
    const without = takers
      .filter(({ query }) => !query.includes('dryRun'))
      .map(({ method, path }) => `${method} ${path}`);
    // A machine that enrols is no person who wants to know beforehand; a code that signs in is stored nowhere, and used up by one attempt.
    expect(without).to.deep.equal([
      'POST /api/v1/nodes',
      'POST /api/v1/tokens/sign-in-codes',
      'POST /api/v1/tokens/sign-in',
    ]);
    await lab.stop();
  });
});
