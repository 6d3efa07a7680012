import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { createTestTerminal, FakeApi, replyRefused } from './fake-api.testing.js';
import type { run as Run } from './run.js';

const ID = `bak_${'1'.repeat(26)}`;
const file = {
  id: ID,
  deploymentName: 'web',
  createdAt: '2030-01-01T00:00:00.000Z',
  createdBy: 'abc',
  specHash: '0123',
  secretsVersion: 0,
  spec: { name: 'web' },
  scalingPolicy: null,
  canaryState: null,
  revisions: [{}, {}],
  revisionsOmitted: 0,
  checksum: '00',
};
const stored = { metadata: { uid: ID }, ...file };

describe('moor backup', () => {
  let api: FakeApi;
  let folder: string;
  let run: typeof Run;
  before(async () => {
    ({ run } = await import('./run.js'));
  });
  beforeEach(async () => {
    api = await FakeApi.start();
    folder = mkdtempSync(join(tmpdir(), 'moor-backup-'));
  });
  afterEach(async () => {
    await api.stop();
    rmSync(folder, { recursive: true });
  });

  const moor = async (...words: readonly string[]) => {
    const terminal = createTestTerminal({ MOORING_SERVER: api.address, MOORING_TOKEN: 'mtk_t' });
    return { code: await run(['backup', ...words], terminal), ...terminal.printed };
  };

  it('create says what was copied', async () => {
    api.replies.set('POST /api/v1/backups', { status: 201, body: stored });
    expect(await moor('create', 'web')).to.deep.equal({
      code: 0,
      out: `backup/${ID} created: deployment web, 2 revisions, spec 0123\n`,
      err: '',
    });
    expect(api.got[0]!.body).to.deep.equal({ deploymentName: 'web' });
    api.replies.set('POST /api/v1/backups', replyRefused(404, 'deployment_not_found'));
    expect((await moor('create', 'web')).code).to.not.equal(0);
  });

  it('list and delete work as for any other kind', async () => {
    const item = { ...stored, revisionCount: 2 };
    api.replies.set('GET /api/v1/backups', { status: 200, body: { items: [item], revision: '1', next: null } });
    const { out } = await moor('list');
    expect(out).to.match(/^ID +DEPLOYMENT +AGE +REVISIONS +BY\nbak_1+ +web +\S+ +2 +abc\n$/);
    api.replies.set(`DELETE /api/v1/backups/${ID}`, { status: 200, body: stored });
    expect((await moor('delete', ID)).code).to.equal(0);
  });

  it('export gives exactly what import sends, through a file and back', async () => {
    api.replies.set(`GET /api/v1/backups/${ID}`, { status: 200, body: stored });
    api.replies.set('POST /api/v1/backups/import', { status: 201, body: stored });
    expect(JSON.parse((await moor('export', ID)).out)).to.deep.equal(file);
    const path = join(folder, 'web.json');
    expect((await moor('export', ID, '-f', path)).out).to.contain(`exported to ${path}`);
    expect(JSON.parse(readFileSync(path, 'utf8'))).to.deep.equal(file);
    const again = await moor('export', ID, '-f', path);
    expect([again.code, again.err]).to.deep.equal([2, `moor: ${path} exists: remove it, or choose another name.\n`]);
    expect((await moor('import', path)).out).to.contain(`backup/${ID} imported`);
    expect(api.got.at(-1)!.body).to.deep.equal(file);
    api.replies.set('POST /api/v1/backups/import', replyRefused(422, 'backup_checksum_mismatch'));
    expect((await moor('import', path)).code).to.equal(1);
    writeFileSync(path, 'a: 1\n---\nb: 2\n');
    expect((await moor('import', path)).code).to.equal(2);
  });

  it('restore names the revision that it became, and with --dry-run what would change', async () => {
    const deployment = { name: 'web', metadata: { generation: 4, specHash: '0123' } };
    const warnings = [{ code: 'secret_missing', field: 'secrets[0].vault_path', message: 'there is no secret x' }];
    api.replies.set(`POST /api/v1/backups/${ID}/restore`, { status: 200, body: { ...deployment, warnings } });
    expect(await moor('restore', ID)).to.deep.equal({
      code: 0,
      out: 'deployment/web restored: revision 4, spec 0123\n',
      err: 'warning secret_missing: there is no secret x\n',
    });
    const dry = { dryRun: true, change: 'update', object: { name: 'web' }, diff: [] };
    api.replies.set(`POST /api/v1/backups/${ID}/restore?dryRun=true`, { status: 200, body: dry });
    const tried = await moor('restore', ID, '--dry-run');
    expect([tried.code, tried.err]).to.deep.equal([0, 'nothing was changed; the change would be: update\n']);
    api.replies.set(`POST /api/v1/backups/${ID}/restore`, replyRefused(422, 'node_not_a_placement_candidate'));
    expect((await moor('restore', ID)).code).to.equal(1);
  });
});
