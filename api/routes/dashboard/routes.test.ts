import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import type { ApiCall } from '../../http/route.js';
import { createDashboardRoutes } from './routes.js';

describe('the routes of the dashboard', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-dashboard-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function ask(routes: ReturnType<typeof createDashboardRoutes>, path: string, file = '', encoding = '') {
    const route = routes.find(each => each.path === path)!;
    const call = { params: { file }, request: { headers: { 'accept-encoding': encoding } } } as unknown as ApiCall;
    return await route.handle(call);
  }

  it('are open, take no query and no body', () => {
    for (const { access, tenant, query, body } of createDashboardRoutes(folder)) {
      expect({ access, tenant, query, body }).to.deep.equal({
        access: 'open',
        tenant: 'none',
        query: [],
        body: 'none',
      });
    }
  });

  it('say what to do while there is no bundle, and serve it as soon as there is one', async () => {
    const routes = createDashboardRoutes(join(folder, 'missing'));
    const before = await ask(routes, '/');
    expect('body' in before && String(before.body)).to.include('sh hack/setup.sh');

    const built = createDashboardRoutes(folder);
    await ask(built, '/');
    writeFileSync(join(folder, 'index.html'), '<!doctype html><p>here');
    const after = await ask(built, '/');
    expect('body' in after && String(after.body)).to.equal('<!doctype html><p>here');
    expect('headers' in after && after.headers?.['content-security-policy']).to.match(/script-src 'self'/);
  });

  it('serve what the bundle holds, packed where the browser takes that, and nothing else', async () => {
    writeFileSync(join(folder, 'main.js'), 'x');
    writeFileSync(join(folder, 'notes.txt'), 'x');
    const routes = createDashboardRoutes(folder);
    const plain = await ask(routes, '/assets/{file}', 'main.js');
    expect('body' in plain && String(plain.body)).to.equal('x');
    const packed = await ask(routes, '/assets/{file}', 'main.js', 'br, gzip');
    expect('headers' in packed && packed.headers?.['content-encoding']).to.equal('gzip');
    for (const file of ['notes.txt', '..', '../routes.ts', 'constructor', '']) {
      const refused = await ask(routes, '/assets/{file}', file);
      expect('rejections' in refused && refused.rejections[0].code, file).to.equal('resource_not_found');
    }
  });
});
