import { expect } from 'chai';

import { keys, ranges } from '../../../crds/keys/index.js';
import { gadgetKind } from '../../../crds/kind/gadget.testing.js';
import { kinds } from '../../../crds/kinds/index.js';
import { getEntry } from '../../../crds/rejections/index.js';
import { type Change, encode } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';
import { listTenantRanges } from './remove.js';

describe('the deletion of a tenant', () => {
  let lab: ApiLab;
  let platform: string;

  beforeEach(async () => {
    lab = await new ApiLab().start();
    platform = (await lab.token({ kind: 'admin' })).text;
  });
  afterEach(() => lab.stop());

  const open = async (name: string) => {
    const { body } = await lab.ask('POST', '/api/v1/tenants', { token: platform, body: { name } });
    return body['id'] as string;
  };
  const remove = async (id: string, token = platform, query = '') => {
    const { status, body } = await lab.ask('DELETE', `/api/v1/tenants/${id}${query}`, { token });
    return [status, body['code'] ?? body['name'], body['received']];
  };
  const asTenant = (id: string) => ({ token: platform, headers: { 'x-tenant-id': id } });
  const ask = (method: string, path: string, id: string, body?: unknown) =>
    lab.ask(method, path, { ...asTenant(id), ...(body !== undefined && { body }) });
  const left = async (id: string) =>
    (await lab.store.list('')).entries.map(({ key }) => key).filter(key => key.includes(id));

  it('looks for every kind of the list that tenants can delete, and takes the history of all others with it', () => {
    const gizmoKind = { ...gadgetKind, singular: 'gizmo', range: 'gizmos/', operations: ['list', 'delete'] as const };
    const { deleted, history } = listTenantRanges([...kinds, gadgetKind, gizmoKind]);
    expect(deleted.map(([kind]) => kind).sort()).to.deep.equal([
      'backup',
      'deployment',
      'gizmo',
      'job',
      'network',
      'node',
      'secret',
      'volume',
    ]);
    expect(history).to.deep.equal([ranges.rotations, ranges.archives, 'gadgets/', ranges.rotationProgress]);
  });

  it('is done when nothing of it is left, and once', async () => {
    const id = await open('shop');
    expect(await remove(id, platform, '?dryRun=true')).to.include(200);
    expect((await lab.ask('GET', `/api/v1/tenants/${id}`, { token: platform })).status).to.equal(200);
    expect(await remove(id.toUpperCase())).to.deep.equal([200, 'shop', undefined]);
    expect(await left(id)).to.deep.equal([]);
    expect(await remove(id)).to.include('resource_not_found');
    expect((await ask('POST', '/api/v1/deployments', id, webDeployment())).body['code']).to.equal('resource_not_found');
  });

  it('is refused with what is left, and changes nothing', async () => {
    const id = await open('shop');
    await ask('POST', '/api/v1/deployments', id, webDeployment('web'));
    await ask('PUT', '/api/v1/secrets/deployments/web-db', id, { values: { a: 'b' } });
    const token = await ask('POST', '/api/v1/tokens', id, { role: 'viewer' });
    expect(token.status).to.equal(201);
    const [status, code, received] = await remove(id);
    expect([status, code]).to.deep.equal([409, 'tenant_in_use']);
    expect(received).to.match(/^1 deployment \(web\); 1 secret \(deployments\/web-db\); 1 token \([\w]+\)$/);
    expect((await lab.ask('GET', `/api/v1/tenants/${id}`, { token: platform })).status).to.equal(200);
    await ask('DELETE', '/api/v1/secrets/deployments/web-db', id);
    expect((await remove(id))[2]).to.match(/^1 deployment \(web\); 1 token/);
  });

  it('is refused with every kind that it may not have, as the page of the code lists them', async () => {
    const id = await open('shop');
    await ask('POST', '/api/v1/deployments', id, webDeployment('web'));
    const { body } = await lab.ask('DELETE', `/api/v1/tenants/${id}`, { token: platform });
    const { expected, sample } = getEntry('tenant_in_use');
    expect(body['expected']).to.equal((expected as (params: unknown) => string)(sample));
    for (const [kind] of listTenantRanges().deleted) expect(body['expected']).to.contain(`${kind}s`);
  });

  it('is refused while it claims the machine of another tenant', async () => {
    const id = await open('shop');
    await ask('POST', '/api/v1/nodes/attic/claims', id);
    const claims = [lab.a, id].map(tenant => ({ tenant, since: '2030-01-01T00:00:00.000Z' }));
    const puts = [{ key: keys.nodeName('attic'), bytes: encode({ claims }) }];
    await lab.store.commit({ guards: [{ key: keys.nodeName('attic'), at: 0 }], puts, deletes: [] });
    expect(await remove(id)).to.deep.equal([409, 'tenant_in_use', '1 claim (attic)']);
    const { body } = await lab.ask('GET', `/api/v1/tenants/${id}/remains`, { token: platform });
    expect(body['remains']).to.deep.include({ claim: ['attic'], deployment: [] });
    await ask('DELETE', '/api/v1/nodes/attic/claim', id);
    expect(await remove(id)).to.include(200);
  });

  it('is refused while the secrets store has secrets of it, wherever that store is', async () => {
    const id = await open('shop');
    lab.secrets.list = async ({ namespace }) =>
      namespace === 'resources' ? { kind: 'found', labels: ['db'] } : { kind: 'forbidden' };
    expect(await remove(id)).to.deep.equal([409, 'tenant_in_use', '1 secret (resources/db)']);
    lab.secrets.list = async () => ({ kind: 'forbidden' });
    const { body } = await lab.ask('DELETE', `/api/v1/tenants/${id}`, { token: platform });
    expect(JSON.stringify(body['warnings'])).to.contain('secrets_not_listed').and.contain('deployments, resources');
  });

  it('takes the history of its deleted deployments with it', async () => {
    const id = await open('shop');
    for (let revision = 1; revision <= 250; revision++) {
      const key = keys.archive(id, 'dep_1', revision);
      await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode({}) }], deletes: [] });
    }
    expect(await remove(id)).to.include(200);
    expect(await left(id)).to.deep.equal([]);
  });

  it('is for administrators of the platform, and not of its own tenant', async () => {
    const admin = await lab.tenantToken(lab.a);
    expect(await remove(lab.a, admin)).to.include('auth_forbidden');
    const own = (await lab.store.list(ranges.tenants)).entries.find(({ bytes }) => bytes.includes('"platform":true'));
    if (own) expect(await remove(own.key.slice(ranges.tenants.length))).to.include('tenant_of_platform');
    expect(await remove('no-uuid')).to.include('resource_not_found');
  });

  const creates = [
    ['a deployment', 'POST', '/api/v1/deployments', webDeployment('late')],
    ['a secret', 'PUT', '/api/v1/secrets/deployments/late', { values: { a: 'b' } }],
    ['a token', 'POST', '/api/v1/tokens', { role: 'viewer' }],
    ['a join token', 'POST', '/api/v1/nodes/join-tokens', {}],
  ] as const;
  for (const [what, method, path, body] of creates) {
    it(`leaves no orphan when ${what} is created at the same time, whichever is stored first`, async () => {
      for (const isCreateFirst of [true, false]) {
        const id = await open('shop');
        let racing: Promise<{ readonly status: number }> | undefined;
        const commit = lab.store.commit.bind(lab.store);
        lab.store.commit = async (change: Change) => {
          // Just before the record moves aside, or while the create waits for its turn to be stored.
          if (!racing && isCreateFirst && change.deletes.includes(keys.tenant(id))) {
            racing = ask(method, path, id, body);
            await racing;
          }
          return commit(change);
        };
        const [status] = await (async () => {
          if (isCreateFirst) return remove(id);
          const gate = lab.store.commit;
          let removed: Promise<readonly unknown[]> | undefined;
          lab.store.commit = async (change: Change) => {
            if (!removed) {
              removed = remove(id);
              await removed;
            }
            return gate(change);
          };
          racing = ask(method, path, id, body);
          await racing;
          return removed!;
        })();
        lab.store.commit = commit;
        const created = (await racing!).status < 300;
        const exists = (await lab.store.get(keys.tenant(id))) !== undefined;
        const isShortLived = what === 'a join token'; // it cannot be used without its tenant, and expires
        expect(exists, `${what}, create first: ${isCreateFirst}`).to.equal(created && !isShortLived);
        expect(status).to.equal(exists ? 409 : 200);
        const orphans = (await left(id)).filter(key => !key.startsWith('events/') && !key.startsWith('turns/'));
        if (!exists) expect(orphans).to.deep.equal([]);
      }
    });
  }

  it('is completed by the next request when a server died in the middle', async () => {
    const id = await open('shop');
    const commit = lab.store.commit.bind(lab.store);
    let commits = 0;
    lab.store.commit = change => (++commits === 2 ? Promise.reject(new Error('killed')) : commit(change));
    expect((await remove(id))[0]).to.equal(500);
    lab.store.commit = commit;
    expect((await ask('POST', '/api/v1/deployments', id, webDeployment())).status).to.equal(404);
    expect(await remove(id)).to.deep.equal([200, 'shop', undefined]);
    expect(await left(id)).to.deep.equal([]);
  });
});
