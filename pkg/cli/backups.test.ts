import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

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
  const lab = useCommandLab();

  const moor = (...words: readonly string[]) => lab.moor(['backup', ...words]);

  it('create says what was copied', async () => {
    lab.api.replies.set('POST /api/v1/backups', { status: 201, body: stored });
    expect(await moor('create', 'web')).to.deep.equal({
      code: 0,
      out: `backup/${ID} created: deployment web, 2 revisions, spec 0123\n`,
      err: '',
    });
    expect(lab.api.got[0]!.body).to.deep.equal({ deploymentName: 'web' });
    lab.api.replies.set('POST /api/v1/backups', replyRefused(404, 'deployment_not_found'));
    expect((await moor('create', 'web')).code).to.not.equal(0);
  });

  it('list and delete work as for any other kind', async () => {
    const item = { ...stored, revisionCount: 2 };
    lab.api.replies.set('GET /api/v1/backups', { status: 200, body: { items: [item], revision: '1', next: null } });
    const { out } = await moor('list');
    expect(out).to.match(/^ID +DEPLOYMENT +AGE +REVISIONS +BY\nbak_1+ +web +\S+ +2 +abc\n$/);
    lab.api.replies.set(`DELETE /api/v1/backups/${ID}`, { status: 200, body: stored });
    expect((await moor('delete', ID)).code).to.equal(0);
  });

  it('export gives exactly what import sends, through a file and back', async () => {
    lab.api.replies.set(`GET /api/v1/backups/${ID}`, { status: 200, body: stored });
    lab.api.replies.set('POST /api/v1/backups/import', { status: 201, body: stored });
    expect(JSON.parse((await moor('export', ID)).out)).to.deep.equal(file);
    const path = join(lab.folder, 'web.json');
    expect((await moor('export', ID, '-f', path)).out).to.contain(`exported to ${path}`);
    expect(JSON.parse(readFileSync(path, 'utf8'))).to.deep.equal(file);
    const again = await moor('export', ID, '-f', path);
    expect([again.code, again.err]).to.deep.equal([2, `moor: ${path} exists: remove it, or choose another name.\n`]);
    expect((await moor('import', path)).out).to.contain(`backup/${ID} imported`);
    expect(lab.api.got.at(-1)!.body).to.deep.equal(file);
    lab.api.replies.set('POST /api/v1/backups/import', replyRefused(422, 'backup_checksum_mismatch'));
    expect((await moor('import', path)).code).to.equal(1);
    writeFileSync(path, 'a: 1\n---\nb: 2\n');
    expect((await moor('import', path)).code).to.equal(2);
  });

  it('restore names the revision that it became, and with --dry-run what would change', async () => {
    const deployment = { name: 'web', metadata: { generation: 4, specHash: '0123' } };
    const warnings = [{ code: 'secret_missing', field: 'secrets[0].vault_path', message: 'there is no secret x' }];
    lab.api.replies.set(`POST /api/v1/backups/${ID}/restore`, { status: 200, body: { ...deployment, warnings } });
    expect(await moor('restore', ID)).to.deep.equal({
      code: 0,
      out: 'deployment/web restored: revision 4, spec 0123\n',
      err: 'warning secret_missing: there is no secret x\n',
    });
    const dry = { dryRun: true, change: 'update', object: { name: 'web' }, diff: [] };
    lab.api.replies.set(`POST /api/v1/backups/${ID}/restore?dryRun=true`, { status: 200, body: dry });
    const tried = await moor('restore', ID, '--dry-run');
    expect([tried.code, tried.err]).to.deep.equal([0, 'nothing was changed; the change would be: update\n']);
    lab.api.replies.set(`POST /api/v1/backups/${ID}/restore`, replyRefused(422, 'node_not_a_placement_candidate'));
    expect((await moor('restore', ID)).code).to.equal(1);
  });
});
