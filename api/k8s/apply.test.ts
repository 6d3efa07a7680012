import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { create } from '../../pkg/store/index.js';
import { ApiLab } from '../api-lab.testing.js';
import { FaceClient, type TestObject } from './face-lab.testing.js';

const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const MERGE = { 'content-type': 'application/merge-patch+json' };
const IMAGE = 'registry.example.com/shop/web:1.4.2';

interface Cause {
  readonly reason: string;
  readonly field: string;
  readonly message: string;
}

describe('server-side apply on the Kubernetes face', () => {
  let lab: ApiLab;
  let client: FaceClient;
  before(async () => {
    lab = await new ApiLab().start();
    client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
  });
  after(() => lab.stop());

  const toBody = (name: string, spec: object, metadata: object = {}) => ({
    apiVersion: 'mooring.io/v1',
    kind: 'Deployment',
    metadata: { name, ...metadata },
    spec,
  });
  const send = (name: string, content: { body: unknown } | { raw: string }, query: string, plural = 'deployments') =>
    client.ask('PATCH', client.own(`${plural}/${name}?${query}`), { ...content, headers: APPLY });
  const apply = (name: string, spec: object, manager = 'me', more = '') =>
    send(name, { body: toBody(name, spec) }, `fieldManager=${manager}${more}`);
  const spec = (body: object) => (body as TestObject)['spec'] as Readonly<Record<string, unknown>>;
  const read = async (name: string) => (await client.ask('GET', client.own(`deployments/${name}`))).body;
  const listCauses = (body: object) => (body as { details: { causes: readonly Cause[] } }).details.causes;
  const listManagers = (body: object) =>
    ((body as TestObject).metadata['managedFields'] as readonly { manager: string; operation: string }[]).map(
      ({ manager, operation }) => `${manager} ${operation}`,
    );

  it('creates, does nothing when repeated, and removes what is sent no more', async () => {
    const full = { image: IMAGE, environment: { A: '1', B: '2' }, stopGracePeriod: '30s' };
    const created = await apply('a', full);
    expect(created.status, created.text).to.equal(201);
    expect(listManagers(created.body)).to.deep.equal(['me Apply']);
    const [owned] = (created.body as unknown as TestObject).metadata['managedFields'] as readonly object[];
    expect(owned).to.have.nested.property('fieldsV1.f:spec.f:environment').that.has.keys('f:A', 'f:B');
    const again = await apply('a', full);
    expect([again.status, again.body]).to.deep.equal([200, created.body]);
    const less = await apply('a', { image: IMAGE, environment: { B: '2' }, replicas: 3 });
    expect(less.status, less.text).to.equal(200);
    expect(spec(less.body)).to.deep.include({ environment: { B: '2' }, replicas: 3 });
    expect(spec(less.body)).to.not.have.property('stopGracePeriod');
    const without = await apply('a', { replicas: 3 });
    expect([without.status, listCauses(without.body)[0]!.field]).to.deep.equal([422, 'spec.image']);
  });

  it('is refused what another has set otherwise, whoever that is, unless forced', async () => {
    await apply('b', { image: IMAGE, replicas: 2 });
    const patch = { spec: { replicas: 5 } };
    await client.ask('PATCH', client.own('deployments/b?fieldManager=you'), { body: patch, headers: MERGE });
    const refused = await apply('b', { image: IMAGE, replicas: 2 });
    expect([refused.status, refused.body['reason']]).to.deep.equal([409, 'Conflict']);
    expect(refused.body['message']).to.equal(
      'Apply failed with 1 conflict: conflict with "you" using mooring.io/v1: .spec.replicas',
    );
    expect(listCauses(refused.body)).to.deep.equal([
      {
        reason: 'FieldManagerConflict',
        message: 'conflict with "you" using mooring.io/v1',
        field: '.spec.replicas',
      },
    ]);
    const { rejections } = refused.body['details'] as { readonly rejections: readonly object[] };
    expect(rejections[0]).to.include({ code: 'field_manager_conflict', field: 'spec.replicas' });
    const forced = await apply('b', { image: IMAGE, replicas: 2 }, 'me', '&force=true');
    expect([forced.status, spec(forced.body)['replicas'], listManagers(forced.body)]).to.deep.equal([
      200,
      2,
      ['me Apply'],
    ]);
    await client.ask('PUT', '/api/v1/deployments/b', { body: { replicas: 7, environment: { MODE: 'x' } } });
    expect(listManagers(await read('b'))).to.deep.equal(['me Apply', 'mooring-api Update']);
    const overtaken = await apply('b', { image: IMAGE, replicas: 2 });
    expect([overtaken.status, listCauses(overtaken.body)[0]!.message]).to.deep.equal([
      409,
      'conflict with "mooring-api" using mooring.io/v1',
    ]);
    const left = await apply('b', { image: IMAGE });
    expect([left.status, spec(left.body)['replicas'], spec(left.body)['environment']]).to.deep.equal([
      200,
      7,
      { MODE: 'x' },
    ]);
  });

  it('of an object that was made otherwise leaves what it does not say', async () => {
    const body = toBody('c', { image: IMAGE, replicas: 2, environment: { A: '1' } }, { labels: { tier: 'front' } });
    await client.ask('POST', client.own('deployments'), { body });
    const shared = await apply('c', { image: IMAGE, environment: { B: '2' } });
    expect(shared.status, shared.text).to.equal(200);
    expect(spec(shared.body)).to.deep.include({ replicas: 2, environment: { A: '1', B: '2' } });
    expect(listManagers(shared.body)).to.deep.equal(['before-first-apply Update', 'me Apply']);
    const refused = await apply('c', { image: IMAGE, replicas: 3 });
    expect(listCauses(refused.body)[0]!.message).to.contain('before-first-apply');
    const dropped = await apply('c', { image: IMAGE });
    expect(spec(dropped.body)['environment']).to.deep.equal({ A: '1' });
    const forgotten = await client.ask('PATCH', client.own('deployments/c'), {
      body: { metadata: { managedFields: [{}] } },
      headers: MERGE,
    });
    expect((forgotten.body as unknown as TestObject).metadata).to.not.have.property('managedFields');
  });

  it('keeps labels and annotations of two managers apart', async () => {
    const noted = (metadata: object, manager: string) =>
      send('d', { body: toBody('d', { image: IMAGE }, metadata) }, `fieldManager=${manager}`);
    await noted({ labels: { tier: 'front' }, annotations: { note: 'one' } }, 'p');
    const both = await noted({ labels: { team: 'shop' }, annotations: { more: 'two' } }, 'q');
    const meta = (body: object) => {
      const { labels, annotations } = (body as TestObject).metadata;
      return { labels, annotations };
    };
    expect(meta(both.body)).to.deep.equal({
      labels: { tier: 'front', team: 'shop' },
      annotations: { note: 'one', more: 'two' },
    });
    const one = await noted({}, 'p');
    expect(meta(one.body)).to.deep.equal({ labels: { team: 'shop' }, annotations: { more: 'two' } });
    const token = await noted({ annotations: { ci: `ghp_${'a'.repeat(36)}` } }, 'p');
    expect([token.status, listCauses(token.body)[0]!.reason]).to.deep.equal([422, 'annotation_holds_credential']);
  });

  it('keeps what it says of a deployment that is the same, also when values of secrets come with it', async () => {
    const db = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', values: { user: 'ada' } };
    const noted = (note: string, manager: string, query = '') =>
      send(
        's',
        { body: toBody('s', { image: IMAGE, secrets: [db] }, { annotations: { note } }) },
        `fieldManager=${manager}${query}`,
      );
    const first = await noted('one', 'me');
    expect(first.status, first.text).to.equal(201);
    const forced = await noted('two', 'you', '&force=true');
    expect(forced.status, forced.text).to.equal(200);
    const rendered = (await read('s')) as unknown as TestObject;
    expect(rendered.metadata['annotations']).to.deep.equal({ note: 'two' });
    expect(listManagers(rendered)).to.deep.equal(['me Apply', 'you Apply']);
    expect(rendered.metadata['generation']).to.equal(1);
    const again = await noted('two', 'you');
    expect([again.status, (await read('s'))['metadata']]).to.deep.equal([200, rendered.metadata]);
    expect((await noted('one', 'me')).status).to.equal(409);
  });

  it('brings back what our own API has removed, as in Kubernetes, and refuses what it has changed', async () => {
    const full = { image: IMAGE, environment: { A: '1', B: '2' } };
    await apply('r', full);
    await client.ask('PUT', '/api/v1/deployments/r', { body: { environment: { B: '2' } } });
    expect(listManagers(await read('r'))).to.deep.equal(['me Apply']);
    const back = await apply('r', full);
    expect([back.status, spec(back.body)['environment']]).to.deep.equal([200, full.environment]);
    await client.ask('PUT', '/api/v1/deployments/r', { body: { environment: { A: '', B: '2' } } });
    expect((await apply('r', full)).status).to.equal(409);
  });

  it('is not done under a name that is a credential, which is not repeated', async () => {
    const token = `ghp_${'a'.repeat(36)}`;
    const refused = await apply('t', { image: IMAGE }, token);
    expect(refused.status, refused.text).to.equal(400);
    expect(refused.text).to.not.contain(token);
    await apply('t', { image: IMAGE });
    const headers = { ...MERGE, 'user-agent': `${token}/1` };
    await client.ask('PATCH', client.own('deployments/t'), { body: { spec: { replicas: 3 } }, headers });
    expect(listManagers(await read('t'))).to.deep.equal(['me Apply', 'unknown Update']);
  });

  it('tries without storing, reads YAML, and is judged as every write', async () => {
    const tried = await apply('e', { image: IMAGE }, 'me', '&dryRun=All');
    expect([tried.status, listManagers(tried.body)]).to.deep.equal([201, ['me Apply']]);
    expect((await client.ask('GET', client.own('deployments/e'))).status).to.equal(404);
    const raw = `apiVersion: mooring.io/v1\nkind: Deployment\nmetadata: {name: e}\nspec:\n  image: ${IMAGE}\n  replicas: 2\n`;
    const created = await send('e', { raw }, 'fieldManager=me');
    expect([created.status, spec(created.body)['replicas']], created.text).to.deep.equal([201, 2]);
    const changed = await apply('e', { image: IMAGE, replicas: 4 }, 'me', '&dryRun=All');
    expect([changed.status, spec(changed.body)['replicas']]).to.deep.equal([200, 4]);
    expect(spec(await read('e'))['replicas']).to.equal(2);
    const refusals: readonly [what: string, answer: ReturnType<typeof apply>, status: number][] = [
      ['a value that is refused', apply('e', { image: IMAGE, replicas: -1 }), 422],
      ['an unknown field', apply('e', { image: IMAGE, typo: 1 }), 422],
      ['no manager', send('e', { raw }, 'force=true'), 400],
      [
        'an outdated version',
        send('e', { body: toBody('e', {}, { resourceVersion: '10000' }) }, 'fieldManager=me'),
        409,
      ],
      ['managed fields', send('e', { body: toBody('e', {}, { managedFields: [{}] }) }, 'fieldManager=me'), 422],
      ['another name', send('e', { body: toBody('f', {}) }, 'fieldManager=me'), 422],
      ['an alias', send('e', { raw: 'a: &x 1\nb: *x\n' }, 'fieldManager=me'), 400],
      ['long YAML', send('e', { raw: `a: ${'x'.repeat(70_000)}` }, 'fieldManager=me'), 400],
      ['nested YAML', send('e', { raw: `a: ${'['.repeat(60_000)}` }, 'fieldManager=me'), 400],
    ];
    for (const [what, answer, status] of refusals) {
      const refused = await answer;
      expect(refused.status, `${what}: ${refused.text}`).to.equal(status);
      expect(spec(await read('e'))['replicas'], what).to.equal(2);
    }
  });

  it('changes of a volume what our own API changes', async () => {
    const applyVolume = (more: object) => {
      const body = {
        apiVersion: 'mooring.io/v1',
        kind: 'Volume',
        metadata: { name: 'v', annotations: { note: JSON.stringify(more) } },
        spec: { class: 'ephemeral', ...more },
      };
      return send('v', { body }, 'fieldManager=me', 'volumes');
    };
    const created = await applyVolume({ sizeBytes: 2 ** 20 });
    expect(created.status, created.text).to.equal(201);
    const again = await applyVolume({ sizeBytes: 2 ** 20 });
    expect([again.status, again.body]).to.deep.equal([200, created.body]);
    const id = (created.body as unknown as TestObject).metadata['uid'] as string;
    const ready = {
      id,
      phase: 'Ready',
      reason: 'volume_ready',
      message: '',
      copies: [],
      since: new Date(0).toISOString(),
    };
    await create(lab.store, keys.volumeStatus(lab.a, id), ready);
    const grown = await applyVolume({ sizeBytes: 2 ** 21 });
    expect([grown.status, spec(grown.body)['sizeBytes']], grown.text).to.deep.equal([200, 2 ** 21]);
    expect((grown.body as unknown as TestObject).metadata['annotations']).to.deep.equal({
      note: '{"sizeBytes":2097152}',
    });
    expect(listManagers(grown.body)).to.deep.equal(['me Apply']);
    const refused = await applyVolume({ sizeBytes: 2 ** 21, accessMode: 'ReadWriteMany' });
    expect([refused.status, listCauses(refused.body)[0]!.field], refused.text).to.deep.equal([422, 'spec.accessMode']);
  });

  it('creates and repeats kinds that are not changed', async () => {
    const job = (image: string) => ({
      apiVersion: 'mooring.io/v1',
      kind: 'Job',
      metadata: { name: 'j', annotations: { note: 'one' } },
      spec: { image },
    });
    const applyJob = (image: string) => send('j', { body: job(image) }, 'fieldManager=me', 'jobs');
    const created = await applyJob(IMAGE);
    expect([created.status, listManagers(created.body)], created.text).to.deep.equal([201, ['me Apply']]);
    const again = await applyJob(IMAGE);
    expect([again.status, again.body]).to.deep.equal([200, created.body]);
    const refused = await applyJob(`${IMAGE}0`);
    expect([refused.status, listCauses(refused.body)[0]!.reason]).to.deep.equal([422, 'field_immutable']);
    const db = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', values: { user: 'canary' } };
    const valued = { ...job(IMAGE), spec: { image: IMAGE, secrets: [db], environment: { MODE: 'canary' } } };
    const leaking = await send('j', { body: valued }, 'fieldManager=me', 'jobs');
    expect(leaking.status).to.equal(422);
    expect(leaking.text).to.not.contain('canary');
  });
});
