import { expect } from 'chai';

import { keys, ranges } from '../../../crds/keys/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

describe('deployments over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'deployer');
  });
  after(() => lab.stop());

  const post = (body: unknown) => lab.ask('POST', '/api/v1/deployments', { token, body });
  const get = (name: string) => lab.ask('GET', `/api/v1/deployments/${name}`, { token });
  const put = (name: string, body: unknown, headers = {}) =>
    lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body, headers });
  const remove = (name: string, headers = {}) => lab.ask('DELETE', `/api/v1/deployments/${name}`, { token, headers });

  it('[2.2.30 3.2 4.3 4.5] are created with every default announced, and read back the same', async () => {
    const created = await post({ kind: 'Deployment', name: 'first', image: 'shop/web:1' });

    expect(created.status).to.equal(201);
    expect(created.body['replicas']).to.equal(1);
    expect((created.body['alterations'] as { field: string }[]).map(({ field }) => field)).to.include('replicas');
    expect(created.body['status']).to.include({ phase: 'Pending' });
    const { revision } = created.body['metadata'] as { revision: string };
    expect(created.headers.get('etag')).to.equal(`"${revision}"`);

    const read = await get('first');
    const { alterations: _, warnings: __, ...stored } = created.body;
    expect(read.body).to.deep.equal(stored);
    expect(read.headers.get('etag')).to.equal(`"${revision}"`);
  });

  it('[3.1] are stored with their archive entry and their event, at one revision', async () => {
    const { body } = await post(webDeployment('archived'));
    const { uid, revision } = body['metadata'] as { uid: string; revision: string };

    const archive = await lab.store.get(keys.archive(lab.a, uid, 1));
    const { entries: events } = await lab.store.list(ranges.of(ranges.events, lab.a));
    const event = events.find(({ bytes }) => bytes.includes(uid));
    expect(String(archive?.revision)).to.equal(revision);
    expect(String(event?.revision)).to.equal(revision);
    expect(JSON.parse(archive!.bytes.toString())).to.include({ change: 'create', revision: 1 });
  });

  it('[4.4] are refused with every reason at once, and nothing is stored', async () => {
    const before = await lab.store.revision();
    const refused = await post({ kind: 'Job', name: 'Bad_Name', image: 'x:latest', replicas: -1 });

    expect(refused.status).to.equal(422);
    const codes = (refused.body['rejections'] as { code: string; doc: string }[]).map(({ code }) => code);
    expect(codes).to.include.members(['manifest_wrong_kind', 'deployment_name_invalid', 'image_required']);
    expect(refused.body['code']).to.equal(codes[0]);
    expect(refused.body['doc']).to.equal(`${lab.server.url}/docs/codes/${codes[0]}`);
    expect(await lab.store.revision()).to.equal(before);
  });

  it('cannot be created twice', async () => {
    await post(webDeployment('twice'));
    const again = await post(webDeployment('twice'));

    expect(again.status).to.equal(409);
    expect(again.body['code']).to.equal('deployment_already_exists');
  });

  it('are stored once when fifty creates arrive at once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(webDeployment('raced'))));

    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
    expect(answers.filter(({ status }) => status === 409)).to.have.length(49);
  });

  it('are changed by what is sent and keep what is not', async () => {
    await post(webDeployment('changed', { environment: { MODE: 'a' } }));
    const changed = await put('changed', { replicas: 5 });

    expect(changed.status).to.equal(200);
    expect(changed.body).to.deep.include({ replicas: 5, environment: { MODE: 'a' } });
    expect(changed.body['metadata']).to.include({ generation: 2 });
  });

  it('do not change when they are sent back as they were read', async () => {
    await post(webDeployment('same'));
    const read = await get('same');
    const again = await put('same', read.body);

    expect(again.status).to.equal(200);
    expect(again.body['metadata']).to.deep.equal(read.body['metadata']);
  });

  it('do not lose a change when many are made at once', async () => {
    await post(webDeployment('busy'));
    await Promise.all(['A', 'B', 'C', 'D'].map(key => put('busy', { labels: { [key]: 'x' } })));

    expect((await get('busy')).body['metadata']).to.include({ generation: 5 });
  });

  const matches: readonly { name: string; headers?: (revision: string) => Record<string, string>; status: number }[] = [
    { name: 'the current revision', headers: revision => ({ 'if-match': `"${revision}"` }), status: 200 },
    { name: 'any revision', headers: () => ({ 'if-match': '*' }), status: 200 },
    { name: 'one of several', headers: revision => ({ 'if-match': `"1", "${revision}"` }), status: 200 },
    { name: 'another revision', headers: () => ({ 'if-match': '"1"' }), status: 412 },
    { name: 'something else', headers: () => ({ 'if-match': 'W/"1"' }), status: 412 },
  ];
  for (const [position, { name, headers, status }] of matches.entries()) {
    it(`answer ${status} to If-Match with ${name}`, async () => {
      const deployment = `match-${position}`;
      const { body } = await post(webDeployment(deployment));
      const { revision } = body['metadata'] as { revision: string };
      const answer = await put(deployment, { replicas: 3 }, headers?.(revision));

      expect(answer.status).to.equal(status);
      if (status === 412) expect(answer.body['code']).to.equal('revision_mismatch');
    });
  }

  it('accept the revision in metadata in place of If-Match', async () => {
    const { body } = await post(webDeployment('stale'));
    await put('stale', { replicas: 3 });
    const answer = await put('stale', { ...body, replicas: 4 });

    expect(answer.status).to.equal(412);
    expect(answer.body['field']).to.equal('metadata.revision');
  });

  it('are marked when deleted, once, and keep their name until they are gone', async () => {
    await post(webDeployment('going'));
    const deleted = await remove('going');
    const again = await remove('going');

    expect(deleted.status).to.equal(200);
    expect(deleted.body['metadata']).to.have.property('deletedAt');
    expect(deleted.body['status']).to.include({ phase: 'Deleting' });
    expect(again.body['metadata']).to.deep.equal(deleted.body['metadata']);
    expect((await post(webDeployment('going'))).body['code']).to.equal('deployment_already_exists');
    expect((await put('going', { replicas: 1 })).body['code']).to.equal('deployment_being_deleted');
  });

  it('are found by their id too', async () => {
    const { body } = await post(webDeployment('by-id'));
    const { uid } = body['metadata'] as { uid: string };

    expect((await get(uid)).body['name']).to.equal('by-id');
    expect((await put(uid, { replicas: 7 })).body['replicas']).to.equal(7);
    const absent = await get(`dep_${'0'.repeat(26)}`);
    expect(absent.body).to.include({ code: 'deployment_not_found', field: 'deployment_id' });
  });

  for (const name of ['absent', '..', '%2e%2e', 'a%2fb', 'UPPER', 'x'.repeat(300), '%00', '💥']) {
    it(`answer 404 to GET, PUT and DELETE of ${name.slice(0, 20)}`, async () => {
      for (const answer of [await get(name), await put(name, { replicas: 1 }), await remove(name)]) {
        expect(answer.status).to.be.oneOf([404, 405]);
      }
    });
  }

  it('show their own status, not that of an earlier deployment of the name', async () => {
    const { body } = await post(webDeployment('observed'));
    const { uid } = body['metadata'] as { uid: string };
    const key = keys.status(lab.a, 'observed');
    const write = async (status: object) => {
      const seen = await lab.store.get(key);
      const bytes = Buffer.from(JSON.stringify(status));
      await lab.store.commit({ guards: [{ key, at: seen?.revision ?? 0 }], puts: [{ key, bytes }], deletes: [] });
    };

    await write({ uid, phase: 'Running', message: 'well' });
    expect((await get('observed')).body['status']).to.include({ phase: 'Running' });
    await write({ uid: 'dep_other', phase: 'Running', message: 'well' });
    expect((await get('observed')).body['status']).to.include({ phase: 'Pending' });
  });
});
