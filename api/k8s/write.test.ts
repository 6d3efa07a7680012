import { expect } from 'chai';

import { ApiLab } from '../api-lab.testing.js';
import { FaceClient, type TestObject } from './face-lab.testing.js';

const MERGE = { 'content-type': 'application/merge-patch+json' };

describe('writes on the Kubernetes face', () => {
  let lab: ApiLab;
  let client: FaceClient;
  let viewer: FaceClient;
  before(async () => {
    lab = await new ApiLab().start();
    client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
    viewer = new FaceClient(lab, await lab.tenantToken(lab.a, 'viewer'), lab.a);
  });
  after(() => lab.stop());

  const web = (name: string, spec: object = {}, metadata: object = {}) => ({
    apiVersion: 'mooring.io/v1',
    kind: 'Deployment',
    metadata: { name, ...metadata },
    spec: { image: 'registry.example.com/shop/web:1.4.2', replicas: 2, ...spec },
  });
  const make = (name: string, spec: object = {}, metadata: object = {}) =>
    client.ask('POST', client.own('deployments'), { body: web(name, spec, metadata) });
  const spec = (body: object) => (body as TestObject)['spec'] as Readonly<Record<string, unknown>>;
  const meta = (body: object) => (body as TestObject).metadata;
  const patch = (name: string, body: unknown, headers: Readonly<Record<string, string>> = MERGE, query = '') =>
    client.ask('PATCH', client.own(`deployments/${name}${query}`), { body, headers });

  it('create what our own API shows, once', async () => {
    const { status, body } = await make('a', { environment: { MODE: 'x' } }, { labels: { tier: 'front' } });
    expect(status).to.equal(201);
    expect(meta(body)).to.deep.include({ name: 'a', namespace: lab.a, labels: { tier: 'front' } });
    const own = await client.ask('GET', '/api/v1/deployments/a');
    expect(own.body).to.deep.include({ replicas: 2, environment: { MODE: 'x' }, labels: { tier: 'front' } });
    const again = await make('a');
    expect([again.status, again.body['reason']]).to.deep.equal([409, 'AlreadyExists']);
    expect(again.body['message']).to.equal('deployments.mooring.io "a" already exists');
  });

  it('refuse with a cause for each code, at the field of the object, and store nothing', async () => {
    const { status, body } = await make('refused', { replicas: -2, typo: 1, image: '' });
    expect([status, body['reason'], body['code']]).to.deep.equal([422, 'Invalid', 422]);
    const { causes, kind, name, rejections } = body['details'] as {
      readonly causes: readonly { readonly reason: string; readonly field: string }[];
      readonly kind: string;
      readonly name: string;
      readonly rejections: readonly { readonly code: string }[];
    };
    expect([kind, name]).to.deep.equal(['Deployment', 'refused']);
    expect(causes.map(({ field }) => field)).to.include.members(['spec.replicas', 'spec.typo', 'spec.image']);
    expect(causes.map(({ reason }) => reason)).to.deep.equal(rejections.map(({ code }) => code));
    expect((await client.ask('GET', client.own('deployments/refused'))).status).to.equal(404);
    const elsewhere = await make('b', {}, { namespace: lab.b });
    expect([elsewhere.status, elsewhere.body['reason']]).to.deep.equal([422, 'Invalid']);
  });

  it('patch by merge, by steps and by kubectl’s default, and remove what is null', async () => {
    await make('p', { environment: { A: '1', B: '2' } });
    expect(spec((await patch('p', { spec: { environment: { A: null }, replicas: 4 } })).body)).to.deep.include({
      environment: { B: '2' },
      replicas: 4,
    });
    const steps = [
      { op: 'test', path: '/spec/replicas', value: 4 },
      { op: 'replace', path: '/spec/replicas', value: 5 },
      { op: 'add', path: '/metadata/labels', value: { tier: 'back' } },
    ];
    const stepped = await patch('p', steps, { 'content-type': 'application/json-patch+json' });
    expect([spec(stepped.body)['replicas'], meta(stepped.body)['labels']]).to.deep.equal([5, { tier: 'back' }]);
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    expect(spec((await patch('p', { spec: { replicas: 6 } }, strategic)).body)['replicas']).to.equal(6);
    expect((await patch('p', { metadata: { labels: { tier: null } } })).body['metadata']).to.not.have.property(
      'labels',
    );
    for (const [type, body] of [
      ['application/json-patch+json', [{ op: 'test', path: '/spec/replicas', value: 1 }]],
      ['application/json-patch+json', [{ op: 'remove', path: '/spec/__proto__' }]],
      ['application/json-patch+json', { op: 'add' }],
    ] as const) {
      expect((await patch('p', body, { 'content-type': type })).status, JSON.stringify(body)).to.equal(422);
    }
  });

  it('replace what was read, and not what has changed since', async () => {
    const made = (await make('r', { environment: { A: '1' } })).body as unknown as TestObject;
    const { environment: _environment, ...rest } = spec(made);
    const put = (body: object) => client.ask('PUT', client.own('deployments/r'), { body });
    const replaced = await put({ ...made, spec: { ...rest, replicas: 7 } });
    expect(replaced.status).to.equal(200);
    expect(spec(replaced.body)).to.include({ replicas: 7 });
    expect(spec(replaced.body)).to.not.have.property('environment');
    const outdated = await put({ ...made, spec: { ...rest, replicas: 8 } });
    expect([outdated.status, outdated.body['reason']]).to.deep.equal([409, 'Conflict']);
    const unchanged = await put(replaced.body);
    expect(meta(unchanged.body).resourceVersion).to.equal(meta(replaced.body).resourceVersion);
  });

  it('try without storing', async () => {
    const created = await client.ask('POST', client.own('deployments?dryRun=All'), { body: web('tried') });
    expect([created.status, spec(created.body)['replicas']]).to.deep.equal([201, 2]);
    expect((await client.ask('GET', client.own('deployments/tried'))).status).to.equal(404);
    await make('d');
    const before = (await client.ask('GET', client.own('deployments/d'))).body;
    expect(spec((await patch('d', { spec: { replicas: 9 } }, MERGE, '?dryRun=All')).body)['replicas']).to.equal(9);
    expect((await client.ask('DELETE', client.own('deployments/d?dryRun=All'))).status).to.equal(200);
    expect((await client.ask('GET', client.own('deployments/d'))).body).to.deep.equal(before);
  });

  it('are bounded as every request is: by length, by depth and by media type', async () => {
    const path = client.own('deployments');
    const refusals: readonly [raw: string, status: number, reason: string, type?: string][] = [
      [`"${'x'.repeat(lab.settings.maxBodyBytes)}"`, 413, 'RequestEntityTooLarge'],
      ['['.repeat(lab.settings.maxBodyDepth + 2), 400, 'BadRequest'],
      ['{"a":1,"a":2}', 400, 'BadRequest'],
      ['a: 1', 415, 'UnsupportedMediaType', 'application/yaml'],
      ['k8s', 415, 'UnsupportedMediaType', 'application/vnd.kubernetes.protobuf'],
    ];
    for (const [raw, status, reason, type = 'application/json'] of refusals) {
      const refused = await client.ask('POST', path, { raw, headers: { 'content-type': type } });
      expect([refused.status, refused.body['reason']], raw.slice(0, 20)).to.deep.equal([status, reason]);
    }
  });

  it('scale, judged as every change', async () => {
    await make('n');
    const path = client.own('deployments/n/scale');
    const scale = (await client.ask('GET', path)).body;
    expect(scale).to.include({ kind: 'Scale', apiVersion: 'autoscaling/v1' });
    expect(
      (await client.ask('PATCH', path, { body: { spec: { replicas: 3 } }, headers: MERGE })).body['spec'],
    ).to.deep.equal({ replicas: 3 });
    const outdated = await client.ask('PUT', path, { body: scale });
    expect([outdated.status, outdated.body['reason']]).to.deep.equal([409, 'Conflict']);
    const refused = await client.ask('PATCH', path, { body: { spec: { replicas: -1 } }, headers: MERGE });
    expect([refused.status, refused.body['reason']]).to.deep.equal([422, 'Invalid']);
  });

  it('delete what is meant', async () => {
    await make('x');
    const path = client.own('deployments/x');
    const other = await client.ask('DELETE', path, { body: { preconditions: { uid: 'another' } } });
    expect([other.status, other.body['reason']]).to.deep.equal([409, 'Conflict']);
    const { status, body } = await client.ask('DELETE', path);
    expect(status).to.equal(200);
    expect(meta(body)).to.include.keys('deletionTimestamp', 'finalizers', 'uid');
    expect((await client.ask('DELETE', client.own('deployments/absent'))).status).to.equal(404);
  });

  it('of kinds that are not changed may be repeated, and not differ', async () => {
    const job = (image: string) => ({
      apiVersion: 'mooring.io/v1',
      kind: 'Job',
      metadata: { name: 'j' },
      spec: { image },
    });
    const made = await client.ask('POST', client.own('jobs'), { body: job('registry.example.com/j:1') });
    expect(made.status, made.text).to.equal(201);
    const change = (body: object) => client.ask('PATCH', client.own('jobs/j'), { body, headers: MERGE });
    expect((await change({ metadata: { annotations: { note: 'x' } } })).status).to.equal(200);
    const refused = await change({ spec: { image: 'registry.example.com/j:2' } });
    expect([refused.status, refused.body['reason']]).to.deep.equal([422, 'Invalid']);
  });

  it('need the role that our own API asks for, and say so in a review', async () => {
    const requests: readonly [
      method: string,
      path: string,
      body: unknown,
      headers?: Readonly<Record<string, string>>,
    ][] = [
      ['POST', viewer.own('deployments'), web('v')],
      ['PATCH', viewer.own('deployments/a'), { spec: { replicas: 1 } }, MERGE],
      ['PATCH', viewer.own('deployments/a/scale'), { spec: { replicas: 1 } }, MERGE],
      ['DELETE', viewer.own('deployments/a'), {}],
      ['PATCH', viewer.own('jobs/j'), {}, MERGE],
    ];
    for (const [method, path, body, headers = {}] of requests) {
      const refused = await viewer.ask(method, path, { body, headers });
      expect([refused.status, refused.body['reason']], `${method} ${path}`).to.deep.equal([403, 'Forbidden']);
    }
    const may = async (who: FaceClient, verb: string, resource: string, namespace = lab.a, group = 'mooring.io') => {
      const body = { spec: { resourceAttributes: { verb, resource, namespace, group } } };
      const answer = await who.ask('POST', '/k8s/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body });
      return (answer.body['status'] as { readonly allowed: boolean }).allowed;
    };
    expect(await may(client, 'create', 'deployments')).to.equal(true);
    expect(await may(viewer, 'list', 'deployments')).to.equal(true);
    expect(await may(viewer, 'create', 'deployments')).to.equal(false);
    expect(await may(client, 'create', 'deployments', lab.b)).to.equal(false);
    expect(await may(client, 'create', 'nodes')).to.equal(false);
    expect(await may(client, 'create', 'deployments', lab.a, 'apps')).to.equal(false);
    const nodes = await client.ask('DELETE', client.own('nodes/m'));
    expect([nodes.status, nodes.body['reason']]).to.deep.equal([405, 'MethodNotAllowed']);
  });
});
