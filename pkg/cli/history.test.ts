import { expect } from 'chai';

import { systemClock } from '../clock/index.js';
import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const entry = (revision: number, more: object = {}) => ({
  revision,
  at: '2030-01-01T00:00:00.000Z',
  by: 'abc',
  operation: 'req',
  change: 'update',
  specHash: `hash${revision}`,
  secretsVersion: 0,
  alterations: [],
  spec: { kind: 'Deployment', name: 'web', image: `web:${revision}`, replicas: 2, secretsVersion: 0 },
  ...more,
});
const PATH = 'GET /api/v1/archives/deployments/web';

describe('the history of a deployment on the command line', () => {
  const lab = useCommandLab();

  const moor = (...words: readonly string[]) =>
    lab.moor(words, { clock: { ...systemClock, now: () => Date.parse('2030-01-01T00:01:00.000Z') } });

  it('is listed with what made each revision', async () => {
    const revisions = [
      entry(1, { change: 'create' }),
      entry(2),
      entry(3, { change: 'rollback', fromRevision: 1 }),
      entry(4, { change: 'restore', fromBackup: 'bak_1' }),
    ];
    lab.api.replies.set(PATH, { status: 200, body: { name: 'web', deleted: false, revisions } });
    const { code, out, err } = await moor('history', 'web');
    expect([code, err]).to.deep.equal([0, '']);
    expect(out.split('\n').map(line => line.replace(/ {2,}/g, '|'))).to.deep.equal([
      'REVISION|CHANGE|AGE|REPLICAS|IMAGE|BY',
      '1|create|1m|2|web:1|abc',
      '2|update|1m|2|web:2|abc',
      '3|rollback to 1|1m|2|web:3|abc',
      '4|restore of bak_1|1m|2|web:4|abc',
      '',
    ]);
    expect((await moor('history', 'web', '-o', 'wide')).out).to.contain('hash4');
    expect(JSON.parse((await moor('history', 'web', '-o', 'json')).out)).to.deep.equal({
      name: 'web',
      deleted: false,
      revisions,
    });
    expect((await moor('history', 'web', '-o', 'name')).out).to.equal(
      'revision/1\nrevision/2\nrevision/3\nrevision/4\n',
    );
  });

  it('says of a deleted deployment that it can be brought back', async () => {
    lab.api.replies.set(PATH, { status: 200, body: { name: 'web', deleted: true, revisions: [entry(1)] } });
    expect((await moor('history', 'web')).err).to.contain('creates it again');
    lab.api.replies.set(PATH, replyRefused(404, 'deployment_not_found'));
    expect((await moor('history', 'web')).code).to.not.equal(0);
  });

  it('shows the difference of two revisions, with the exit codes of diff', async () => {
    const compare = (query: string, from: object, to: object) =>
      lab.api.replies.set(`${PATH}?${query}`, { status: 200, body: { name: 'web', from, to, diff: [] } });
    compare('from=3', entry(3), entry(5));
    compare('from=3&to=4', entry(3), entry(4));
    compare('from=3&to=3', entry(3), entry(3));
    const since = await moor('diff', 'web', '--revision', '3');
    expect(since.code).to.equal(1);
    expect(since.out).to.contain('-image: web:3\n+image: web:5\n');
    expect(since.out).to.match(/^--- deployment\/web revision 3 \(update, 2030/);
    expect((await moor('diff', 'web', '--revision', '3..4')).out).to.contain('+image: web:4\n');
    expect(await moor('diff', 'web', '--revision', '3..3')).to.deep.include({ code: 0, out: '' });
    lab.api.replies.set(`${PATH}?from=9`, replyRefused(404, 'revision_not_found'));
    expect((await moor('diff', 'web', '--revision', '9')).code).to.be.above(1);
  });

  it('is refused as a usage fault where it is not clear what to compare', async () => {
    for (const words of [['web'], ['--revision', '3'], ['web', '--revision', 'x'], []]) {
      expect((await moor('diff', ...words)).code, words.join(' ')).to.equal(2);
    }
    expect(lab.api.got).to.deep.equal([]);
  });
});
