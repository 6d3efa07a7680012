import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { ApiLab } from '../api-lab.testing.js';
import { createSiteRoutes } from './site.js';

describe('the documentation at /docs', () => {
  it('is open, and leaves the pages of codes and of the API where they are', async () => {
    const lab = await new ApiLab().start();
    const statuses = [];
    for (const path of ['/docs', '/docs/', '/docs/codes', '/docs/api', '/docs/no-such-page', '/docs/..%2findex'])
      statuses.push((await lab.ask('GET', path, { headers: { accept: 'text/html' } })).status);
    await lab.stop();
    expect(statuses).to.deep.equal([200, 200, 200, 200, 404, 404]);
  });

  it('serves the pages of its folder, also those that come later, without scripts, and no other file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mooring-site-'));
    const [front, one] = createSiteRoutes(folder);
    const ask = async (page: string) => {
      const route = page === '' ? front! : one!;
      const answer = (await route.handle({ params: { page } } as never)) as {
        status: number;
        body: Buffer;
        headers: object;
      };
      return answer;
    };
    expect(String((await ask('')).body)).to.contain('not built');
    writeFileSync(join(folder, 'index.html'), 'front');
    writeFileSync(join(folder, 'a.html'), 'page a');
    writeFileSync(join(folder, 'secret.txt'), 'no');
    const shown = [await ask(''), await ask('a')];
    expect(shown.map(({ body }) => String(body))).to.deep.equal(['front', 'page a']);
    expect(JSON.stringify(shown[1]!.headers)).to.contain("default-src 'none'");
    expect(JSON.stringify(await ask('secret'))).to.contain('resource_not_found');
    rmSync(folder, { recursive: true });
  });
});
