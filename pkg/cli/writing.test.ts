import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import fc from 'fast-check';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';
import type { TestTerminal } from '../terminal/terminal.testing.js';
import { applyJsonPatch } from '../../crds/rejections/json-patch.js';
import { paint } from '../terminal/index.js';
import { formatUnifiedDiff } from './print/unified-diff.js';

const spec = { kind: 'Deployment', name: 'web', image: 'web:1', replicas: 2 };
const stored = { ...spec, metadata: { generation: 1, revision: '5' }, status: {}, alterations: [], warnings: [] };
const toDryRunReply = (change: string, object: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  status: 200,
  body: { dryRun: true, change, object, alterations: [], warnings: [], diff: [], ...more },
});
const ONE = '/api/v1/deployments/web';
const ALL = '/api/v1/deployments';

describe('moor, before it writes', () => {
  const lab = useCommandLab();
  let path: string;
  beforeEach(() => {
    path = join(lab.folder, 'web.yaml');
    writeFileSync(path, 'kind: Deployment\nname: web\nimage: web:2\nreplicas: 2\n');
  });

  const moor = (words: readonly string[], more: Partial<TestTerminal> = {}) => lab.moor(words, more);
  const writes = () => lab.api.got.filter(({ method, path: at }) => method !== 'GET' && !at.includes('dryRun=true'));

  describe('apply --dry-run', () => {
    it('prints the object that would be created, its nodes and its secrets', async () => {
      const more = {
        warnings: [{ code: 'dependency_absent', field: 'dependsOn[0].name', message: 'no db yet' }],
        secrets: [
          { path: 'deployments/web-db', resolves: true, missing: [] },
          { path: 'deployments/mail', resolves: false, missing: ['host'] },
        ],
        placement: { able: 1, next: ['node-1'], unplaced: 1 },
      };
      lab.api.replies.set(`POST ${ALL}?dryRun=true`, toDryRunReply('create', spec, more));
      const { code, out, err } = await moor(['apply', '-f', path, '--dry-run']);
      expect(code).to.equal(0);
      expect(out).to.match(/deployment\/web would be created/);
      expect(out)
        .to.match(/deployments\/web-db resolves/)
        .and.to.match(/deployments\/mail lacks host/);
      expect(out)
        .to.match(/placed\s+node-1/)
        .and.to.match(/unplaced 1/);
      expect(err).to.contain('dependency_absent');
      expect(writes()).to.deep.equal([]);
    });

    it('prints what would be changed and recreated', async () => {
      lab.api.replies.set(`GET ${ONE}`, { status: 200, body: stored });
      lab.api.replies.set(
        `PUT ${ONE}?dryRun=true`,
        toDryRunReply('update', spec, { recreated: [{ replica: 0 }, { replica: 1 }] }),
      );
      const { out } = await moor(['apply', '-f', path, '--dry-run']);
      expect(out)
        .to.match(/would be configured/)
        .and.to.match(/recreated 2 containers/);
      expect(writes()).to.deep.equal([]);
    });

    it('prints every rejection', async () => {
      lab.api.replies.set(`POST ${ALL}?dryRun=true`, replyRefused(422, 'image_required', 'replicas_negative'));
      const { code, err } = await moor(['apply', '-f', path, '--dry-run']);
      expect(code).to.equal(1);
      expect(err).to.contain('image_required').and.to.contain('replicas_negative');
    });

    it('sends a job to the jobs endpoint', async () => {
      writeFileSync(path, 'kind: Job\nname: once\nimage: web:2\n');
      lab.api.replies.set('POST /api/v1/jobs?dryRun=true', toDryRunReply('create', { kind: 'Job', name: 'once' }));
      expect((await moor(['apply', '-f', path, '--dry-run'])).out).to.match(/job\/once would be created/);
    });
  });

  describe('diff', () => {
    it('shows lines that would change, and exits with 1', async () => {
      lab.api.replies.set(`GET ${ONE}`, { status: 200, body: stored });
      lab.api.replies.set(`PUT ${ONE}?dryRun=true`, toDryRunReply('update', { ...spec, image: 'web:2' }));
      const { code, out } = await moor(['diff', '-f', path]);
      expect(code).to.equal(1);
      expect(out).to.contain('\n-image: web:1\n+image: web:2\n').and.to.contain(' replicas: 2\n');
      expect(out).not.to.contain('generation');
      expect(writes()).to.deep.equal([]);
    });

    it('prints nothing and exits with 0 when nothing would change, in any order of fields', async () => {
      lab.api.replies.set(`GET ${ONE}`, { status: 200, body: stored });
      const reordered = { replicas: 2, image: 'web:1', name: 'web', kind: 'Deployment' };
      lab.api.replies.set(`PUT ${ONE}?dryRun=true`, toDryRunReply('none', reordered));
      expect(await moor(['diff', '-f', path])).to.deep.include({ code: 0, out: '' });
    });

    it('shows all lines of a new object', async () => {
      lab.api.replies.set(`POST ${ALL}?dryRun=true`, toDryRunReply('create', spec));
      const { code, out } = await moor(['diff', '-f', path]);
      expect(code).to.equal(1);
      expect(out).to.contain('@@ -0,0 +1,4 @@\n+image: web:1\n');
    });

    it('exits above 1 when the server refuses', async () => {
      lab.api.replies.set(`POST ${ALL}?dryRun=true`, replyRefused(422, 'image_required'));
      expect((await moor(['diff', '-f', path])).code).to.equal(2);
    });

    it('is coloured on a terminal', async () => {
      lab.api.replies.set(`POST ${ALL}?dryRun=true`, toDryRunReply('create', spec));
      expect((await moor(['diff', '-f', path], { colours: true })).out).to.contain('[32m+image: web:1');
    });
  });

  describe('apply --fix', () => {
    const fix = [{ op: 'replace', path: '/image', value: 'web:3' }];
    beforeEach(() => {
      lab.api.replies.set(`POST ${ALL}`, ({ body }) => {
        if ((body as { image: string }).image === 'web:3') return { status: 201, body: stored };
        const rejection = { code: 'image_required', field: 'image', received: '', expected: '', why: '', doc: '', fix };
        return { status: 422, body: { ...rejection, rejections: [rejection] } };
      });
    });

    it('shows the patch and applies it after a yes', async () => {
      const asked: string[] = [];
      const confirm = (question: string) => Promise.resolve(asked.push(question) > 0);
      const { code, out, err } = await moor(['apply', '-f', path, '--fix'], { confirm });
      expect(code).to.equal(0);
      expect(err).to.contain('image_required').and.to.contain('"value":"web:3"');
      expect(asked).to.have.length(1);
      expect(out).to.match(/created/);
    });

    it('changes nothing after a no', async () => {
      const { code, err } = await moor(['apply', '-f', path, '--fix']);
      expect(code).to.equal(1);
      expect(err).to.contain('image_required');
      expect(lab.api.got.filter(({ method }) => method === 'POST')).to.have.length(1);
    });

    it('does not ask with --yes', async () => {
      expect((await moor(['apply', '-f', path, '--fix', '--yes'])).code).to.equal(0);
    });

    it('gives up on fixes that do not help', async () => {
      fix[0]!.value = 'web:4';
      expect((await moor(['apply', '-f', path, '--fix', '--yes'])).code).to.equal(1);
      fix[0]!.value = 'web:3';
    });
  });

  describe('explain', () => {
    it('needs no server', async () => {
      const { code, out } = await moor(['explain', 'replicas_negative']);
      expect([code, lab.api.got]).to.deep.equal([0, []]);
      expect(out).to.contain('replicas_negative').and.to.contain('fixed:').and.to.contain('replicas: -1');
    });

    it('exits with 2 for an unknown code', async () => {
      expect((await moor(['explain', 'nonsense'])).code).to.equal(2);
    });
  });
});

describe('applyJsonPatch', () => {
  const cases: readonly [name: string, steps: Parameters<typeof applyJsonPatch>[1], result: unknown][] = [
    ['replaces', [{ op: 'replace', path: '/a', value: 2 }], { a: 2, list: [1, 2, 3] }],
    ['removes', [{ op: 'remove', path: '/a' }], { list: [1, 2, 3] }],
    ['adds', [{ op: 'add', path: '/b~1c', value: 1 }], { a: 1, list: [1, 2, 3], 'b/c': 1 }],
    ['takes out of a list', [{ op: 'remove', path: '/list/1' }], { a: 1, list: [1, 3] }],
    ['adds to the end of a list', [{ op: 'add', path: '/list/-', value: 4 }], { a: 1, list: [1, 2, 3, 4] }],
    ['moves', [{ op: 'move', from: '/a', path: '/b' }], { b: 1, list: [1, 2, 3] }],
    ['returns undefined for a missing field', [{ op: 'remove', path: '/none' }], undefined],
    ['returns undefined for a missing parent', [{ op: 'add', path: '/none/x', value: 1 }], undefined],
    ['does not reach inherited members', [{ op: 'add', path: '/__proto__/x', value: 1 }], undefined],
  ];
  for (const [name, steps, result] of cases) {
    it(name, () => expect(applyJsonPatch({ a: 1, list: [1, 2, 3] }, steps)).to.deep.equal(result));
  }
});

describe('formatUnifiedDiff', () => {
  const plain = paint(false);

  it('adds and removes the lines that differ, and is empty for equal texts', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 }).map(lines => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = formatUnifiedDiff(before, after, plain);
        expect(diff === '').to.equal(before.split('\n').join() === after.split('\n').join());
        const marked = diff.split('\n').filter(line => !line.startsWith('@@'));
        const count = (mark: string) => marked.filter(line => line.startsWith(mark)).length;
        const length = (lines: string) => (lines === '' ? 0 : lines.split('\n').length);
        expect(count('+') - count('-')).to.equal(length(after) - length(before));
      }),
    );
  });

  it('omits lines that are far from any change', () => {
    const lines = Array.from({ length: 40 }, (_, at) => `line ${at}`);
    const after = lines.with(20, 'changed').join('\n');
    const diff = formatUnifiedDiff(lines.join('\n'), after, plain);
    expect(diff.split('\n')).to.have.length(10);
    expect(diff).to.match(/^@@ -18,7 \+18,7 @@\n/);
  });
});
