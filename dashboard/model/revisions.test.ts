import { expect } from 'chai';
import fc from 'fast-check';

import type { ArchivedRevision } from '../../crds/archive/archive.js';
import { compareLines, compareRevisions, describeChange, toRollbackAction } from './revisions.js';
import type { DeploymentView } from './views.js';

const revision = (number: number, spec: object, more: object = {}) =>
  ({ revision: number, change: 'update', spec, ...more }) as unknown as ArchivedRevision;

describe('revisions beside each other', () => {
  it('show what was replaced beside what replaces it, with the lines around it', () => {
    const base = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 };
    const found = compareRevisions(revision(1, { ...base, image: 'web:1' }), revision(2, { ...base, image: 'web:2' }));
    expect(found).to.deep.equal([
      { skipped: 3 },
      ...['d: 4', 'e: 5', 'f: 6'].map(line => ({ before: line, after: line, isChanged: false })),
      { before: 'image: web:1', after: 'image: web:2', isChanged: true },
    ]);
  });

  it('show what was added or removed alone, and nothing where nothing differs', () => {
    expect(compareLines(['a', 'b'], ['a', 'x', 'b'])).to.deep.equal([
      { before: 'a', after: 'a', isChanged: false },
      { before: undefined, after: 'x', isChanged: true },
      { before: 'b', after: 'b', isChanged: false },
    ]);
    expect(compareLines(['a'], [])).to.deep.equal([{ before: 'a', after: undefined, isChanged: true }]);
    expect(compareRevisions(revision(1, { a: 1 }), revision(2, { a: 1 }))).to.deep.equal([]);
  });

  it('lose and invent no line, whatever the texts are', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = compareLines(before, after);
        expect(lines.flatMap(line => line.before ?? [])).to.deep.equal(before);
        expect(lines.flatMap(line => line.after ?? [])).to.deep.equal(after);
        expect(lines.every(line => line.isChanged === (line.before !== line.after) || line.isChanged)).to.equal(true);
      }),
    );
  });

  it('say what made them, and the way back asks first', () => {
    expect(describeChange(revision(3, {}, { change: 'rollback', fromRevision: 1 }))).to.equal('rollback to 1');
    expect(describeChange(revision(3, {}, { reason: 'failed' }))).to.equal('update (failed)');
    const deployment = { name: 'a b', metadata: { revision: '7' } } as unknown as DeploymentView;
    const action = toRollbackAction(deployment, 2);
    expect(action).to.include({ revision: '7', path: '/api/v1/archives/deployments/a%20b/rollback' });
    expect(action.question).to.match(/^Bring revision 2 of a b back\?/);
  });
});
