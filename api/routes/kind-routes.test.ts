import { expect } from 'chai';

import { buildKey, keys } from '../../crds/keys/index.js';
import { gadgetKind } from '../../crds/kind/gadget.testing.js';
import { getOperationRoute, type Kind } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import type { Metadata } from '../../crds/meta/index.js';
import { create } from '../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { WatchReader } from '../watch/watch-reader.testing.js';

describe('the route table', () => {
  it('serves every operation of every kind', async () => {
    const lab = await new ApiLab().start();
    const served = lab.api.routes.map(({ method, path }) => `${method} ${path}`);
    for (const kind of kinds as readonly Kind[]) {
      for (const operation of kind.operations) {
        const { method, path } = getOperationRoute(kind, operation);
        expect(served, `${operation} of ${kind.plural}`).to.include(`${method} ${path}`);
      }
    }
    await lab.stop();
  });

  it('has the objects of a kind deleted by those whom its descriptor names', async () => {
    const lab = await new ApiLab().start();
    for (const kind of (kinds as readonly Kind[]).filter(
      ({ operations, scope }) => operations.includes('delete') && scope === 'tenant',
    )) {
      const { method, path } = getOperationRoute(kind, 'delete');
      const route = lab.api.routes.find(each => each.method === method && each.path === path);
      expect(route?.access, kind.plural).to.deep.equal({ tenant: kind.deletedBy ?? 'deployer', admin: true });
    }
    await lab.stop();
  });
});

describe('the deletion of an object', () => {
  it('is only asked for where the descriptor of its kind says so; else it is gone at once', async () => {
    const lab = await new ApiLab().start();
    const token = await lab.tenantToken(lab.a);
    const enrol = async (node: string, nodeName: string) => {
      await lab.token({ kind: 'node', tenant: lab.a, node, nodeName });
      await create(lab.store, keys.nodeName(nodeName), { claims: [{ tenant: lab.a, since: '' }] });
      return node;
    };
    await enrol(`node_${'7'.repeat(26)}`, 'machine-1'); // networks are created on it
    const post = async (path: string, body: object, name: string) => {
      const made = await lab.ask('POST', `/api/v1/${path}`, { token, body });
      expect(made.status, made.text).to.equal(201);
      return String(made.body[name]);
    };
    const scratch = { name: 'data', class: 'ephemeral', sizeBytes: 2 ** 20 };
    /** What a new object of each kind is called in its path. */
    const made: Readonly<Record<string, () => Promise<string>>> = {
      deployment: () => post('deployments', webDeployment('other'), 'name'),
      volume: () => post('dvm/volumes', scratch, 'id'),
      node: () => enrol(`node_${'8'.repeat(26)}`, 'machine-2'),
      job: () => post('jobs', { kind: 'Job', name: 'migrate', image: webDeployment()['image'] }, 'name'),
      network: () => post('networks', { name: 'back' }, 'name'),
      secret: async () => {
        await lab.ask('PUT', '/api/v1/secrets/deployments/db', { token, body: { values: { a: 'b' } } });
        return 'deployments/db';
      },
      backup: () => post('backups', { deploymentName: 'web' }, 'id'),
      token: () => post('tokens', { role: 'viewer' }, 'id'),
    };
    await post('deployments', webDeployment('web'), 'name');
    const list = async (path: string) => {
      await lab.cache.barrier();
      return (await lab.ask('GET', path, { token })).body['items'] as readonly {
        readonly metadata?: Partial<Metadata>;
      }[];
    };
    const deletable = ({ operations, scope }: Kind) => operations.includes('delete') && scope === 'tenant';
    for (const { singular, path = '', isFinalized } of (kinds as readonly Kind[]).filter(deletable)) {
      const name = await made[singular]!();
      const before = (await list(path)).length;
      const deleted = await lab.ask('DELETE', `${path}/${name}`, { token });
      expect(deleted.status, `${singular}: ${deleted.text}`).to.be.within(200, 204);
      const left = await list(path);
      const asked = left.filter(each => each.metadata?.deletedAt !== undefined).length;
      expect([before - left.length, asked], singular).to.deep.equal(isFinalized ? [0, 1] : [1, 0]);
    }
    await lab.stop();
  });
});

describe('the routes of a kind that only has a descriptor', () => {
  let lab: ApiLab;
  let token: string;
  const store = async (name: string, size: number) => {
    const metadata = { tenant: lab.a, uid: `gad_${name}`, generation: 1 };
    const verdict = await create(lab.store, buildKey(gadgetKind, lab.a, name), { metadata, name, size });
    if (verdict.stored) await lab.cache.reached(verdict.revision);
  };
  before(async () => {
    lab = await new ApiLab({ kinds: [...kinds, gadgetKind] }).start();
    token = await lab.tenantToken(lab.a, 'viewer');
    await store('first', 3);
  });
  after(() => lab.stop());

  it('list its objects', async () => {
    const { status, body } = await lab.ask('GET', '/api/v1/gadgets', { token });
    expect(status).to.equal(200);
    expect(body['items']).to.have.length(1);
    expect((body['items'] as object[])[0]).to.include({ name: 'first', size: 3 });
  });

  it('show one object, and refuse a name that no object has', async () => {
    const found = await lab.ask('GET', '/api/v1/gadgets/first', { token });
    expect(found.body).to.include({ name: 'first', size: 3 });
    expect(found.body['metadata']).to.have.property('revision');
    const missing = await lab.ask('GET', '/api/v1/gadgets/second', { token });
    expect([missing.status, missing.body['code']]).to.deep.equal([404, 'resource_not_found']);
  });

  it('show no object of another tenant', async () => {
    const other = await lab.tenantToken(lab.b, 'viewer');
    expect((await lab.ask('GET', '/api/v1/gadgets', { token: other })).body['items']).to.deep.equal([]);
    expect((await lab.ask('GET', '/api/v1/gadgets/first', { token: other })).status).to.equal(404);
  });

  it('watch its objects', async () => {
    const watch = await WatchReader.open(`${lab.server.url}/api/v1/gadgets?watch=true`, {
      authorization: `Bearer ${token}`,
    });
    const [opening] = await watch.take(1);
    expect(opening?.object).to.include({ name: 'first' });
    await store('late', 7);
    const names = new Set<string>();
    while (!names.has('late')) for (const { object } of await watch.take(1)) names.add(object?.name ?? '');
    watch.close();
  });

  it('stand in the OpenAPI document, with the schema of an object, and on the page of the API', async () => {
    const { body } = await lab.ask('GET', '/openapi.json');
    expect(body['paths']).to.include.keys('/api/v1/gadgets', '/api/v1/gadgets/{name}');
    const { schemas } = body['components'] as { schemas: Record<string, object> };
    expect(schemas).to.include.keys('Gadget', 'GadgetAnswer', 'GadgetAnswerList');
    expect((await lab.ask('GET', '/docs/api')).text).to.contain('/api/v1/gadgets/{name}');
  });
});
