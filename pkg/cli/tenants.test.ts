import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';
import type { TestTerminal } from '../terminal/terminal.testing.js';

const ID = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
const REMAINS = `GET /api/v1/tenants/${ID}/remains`;
const list = (...items: readonly object[]) => ({ status: 200, body: { items, revision: '1', next: null } });

describe('moor tenants delete', () => {
  const lab = useCommandLab({ token: 'mad_t' });

  beforeEach(() => {
    lab.api.replies.set('GET /api/v1/tenants', list({ id: ID, name: 'shop' }));
    lab.api.replies.set(`DELETE /api/v1/tenants/${ID}`, { status: 200, body: { id: ID, name: 'shop' } });
    let looks = 2;
    const remains = {
      network: ['back'],
      node: ['n1'],
      claim: ['n2'],
      secret: ['deployments/web-db'],
      backup: ['bak_1'],
      token: ['abc'],
    };
    lab.api.replies.set(REMAINS, () => ({
      status: 200,
      body: { remains: { deployment: looks > 0 ? ['web'] : [], job: looks-- > 1 ? ['seed'] : [], ...remains } },
    }));
    for (const path of [
      'deployments/web',
      'jobs/seed',
      'networks/back',
      'nodes/n1',
      'nodes/n2/claim',
      'secrets/deployments/web-db',
      'backups/bak_1',
      'tokens/abc',
    ]) {
      lab.api.replies.set(`DELETE /api/v1/${path}`, { status: 200, body: {} });
    }
  });

  const moor = (words: readonly string[], more: Partial<TestTerminal> = {}) =>
    lab.moor(['tenants', 'delete', ...words], more);
  const deleted = () => lab.api.got.filter(({ method }) => method === 'DELETE').map(({ path }) => path);

  it('deletes a tenant by its name, and prints what the server says is left', async () => {
    expect(await moor(['shop'])).to.deep.include({ code: 0, out: `tenant/${ID} deleted\n` });
    lab.api.replies.set(`DELETE /api/v1/tenants/${ID}`, replyRefused(409, 'tenant_in_use'));
    const { code, err } = await moor([ID]);
    expect([code, deleted().length]).to.deep.equal([1, 2]);
    expect(err).to.contain('tenant_in_use');
  });

  it('with --cascade shows what goes and deletes nothing without a yes', async () => {
    const { code, out } = await moor(['shop', '--cascade'], { confirm: () => Promise.resolve(false) });
    expect([code, deleted()]).to.deep.equal([1, []]);
    expect(out).to.equal(
      '1 deployment: web\n1 job: seed\n1 network: back\n1 node: n1\n1 claim: n2\n1 secret: deployments/web-db\n1 backup: bak_1\n1 token: abc\n',
    );
  });

  it('with --cascade --yes deletes everything, the tenant last', async () => {
    const { code, out } = await moor(['shop', '--cascade', '--yes']);
    expect(code).to.equal(0);
    expect(out).to.contain(`tenant/${ID} deleted`);
    expect(deleted()).to.deep.equal([
      '/api/v1/deployments/web',
      '/api/v1/jobs/seed',
      '/api/v1/networks/back',
      '/api/v1/nodes/n1',
      '/api/v1/nodes/n2/claim',
      '/api/v1/secrets/deployments/web-db',
      '/api/v1/backups/bak_1',
      '/api/v1/tokens/abc',
      `/api/v1/tenants/${ID}`,
    ]);
  });

  it('with --cascade deletes nothing when a list of what it has is refused', async () => {
    lab.api.replies.set(REMAINS, replyRefused(503, 'store_unavailable'));
    const { code, err } = await moor(['shop', '--cascade', '--yes']);
    expect([code, deleted()]).to.deep.equal([4, []]);
    expect(err).to.contain('store_unavailable');
  });

  it('with --cascade deletes nothing of a tenant that has something of a kind which a later release has', async () => {
    lab.api.replies.set(REMAINS, { status: 200, body: { remains: { deployment: ['web'], gizmo: ['g'], widget: [] } } });
    const { code, err } = await moor(['shop', '--cascade', '--yes']);
    expect([code, deleted()]).to.deep.equal([2, []]);
    expect(err).to.contain('(gizmo)').and.contain('release of the server');
  });

  it('deletes no object of another kind whose path is given as the name of a tenant', async () => {
    for (const words of [['../nodes/n1'], ['../nodes/n1', '--cascade', '--yes']]) {
      expect((await moor(words)).code).to.equal(3);
    }
    expect(new Set(deleted())).to.deep.equal(new Set(['/api/v1/tenants/..%2Fnodes%2Fn1']));
  });

  it('asks for the id when several tenants have the name', async () => {
    lab.api.replies.set('GET /api/v1/tenants', list({ id: ID, name: 'shop' }, { id: 'other', name: 'shop' }));
    expect((await moor(['shop'])).code).to.equal(2);
  });

  it('takes an id for an id, also when another tenant is called so', async () => {
    const named = { id: 'other', name: ID };
    lab.api.replies.set('GET /api/v1/tenants', list(named, { id: ID, name: 'shop' }));
    expect((await moor([ID])).code).to.equal(0);
    lab.api.replies.set('GET /api/v1/tenants', list(named)); // the deletion of the one with the id was interrupted
    expect((await moor([ID])).code).to.equal(0);
    expect(new Set(deleted())).to.deep.equal(new Set([`/api/v1/tenants/${ID}`]));
  });
});

describe('moor describe tenant and moor get tenant', () => {
  const lab = useCommandLab({ token: 'mad_t' });
  const shop = { id: ID, name: 'shop', createdAt: '2026-01-01T00:00:00.000Z', platform: false };

  beforeEach(() => {
    lab.api.replies.set('GET /api/v1/tenants', list(shop));
    lab.api.replies.set(`GET /api/v1/tenants/${ID}`, { status: 200, body: shop });
    lab.api.replies.set('GET /api/v1/events', list());
  });

  for (const name of ['shop', ID, ID.toUpperCase()]) {
    it(`take ${name}`, async () => {
      const described = await lab.moor(['describe', 'tenant', name]);
      expect([described.code, described.out.includes(ID)]).to.deep.equal([0, true]);
      expect(await lab.moor(['get', 'tenant', name, '-o', 'name'])).to.deep.include({ code: 0, out: `tenant/${ID}\n` });
    });
  }

  it('ask for the id when several tenants have the name, and find none that there is not', async () => {
    expect((await lab.moor(['describe', 'tenant', 'other'])).code).to.equal(3);
    lab.api.replies.set('GET /api/v1/tenants', list(shop, { ...shop, id: 'other' }));
    expect((await lab.moor(['describe', 'tenant', 'shop'])).code).to.equal(2);
  });

  it('show the own one to those who may not list them', async () => {
    lab.api.replies.set('GET /api/v1/tenants', replyRefused(403, 'role_insufficient'));
    lab.api.replies.set('GET /api/v1/tenants/self', { status: 200, body: shop });
    expect((await lab.moor(['describe', 'tenant', 'self'])).code).to.equal(0);
  });
});
