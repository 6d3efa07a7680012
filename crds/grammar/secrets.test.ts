import { expect } from 'chai';
import fc from 'fast-check';

import {
  isRelativePath,
  isSecretKey,
  isSecretLabel,
  parseAnchor,
  parseSecretPath,
  parseTemplate,
  findPlaceholders,
} from './index.js';

const id = 'vol_01jx4t9mk3v8q2zr5w7y6n0rdy';

describe('an anchor', () => {
  const cases: ReadonlyArray<[string, object | undefined]> = [
    ['process', { to: 'process' }],
    ['external', { to: 'external' }],
    [`volume(${id})`, { to: 'volume', volumeId: id }],
    ['Process', undefined],
    ['volume', undefined],
    ['volume()', undefined],
    [`volume( ${id})`, undefined],
    [`volume(${id}))`, undefined],
    ['volume(dep_01jx4t9mk3v8q2zr5w7y6n0rdy)', undefined],
    [`volume(${id})\n`, undefined],
    ['', undefined],
  ];
  for (const [text, anchor] of cases) {
    it(JSON.stringify(text), () => expect(parseAnchor(text)).to.deep.equal(anchor));
  }
});

describe('a path of a secret', () => {
  it('has two parts', () => {
    expect(parseSecretPath('deployments/web-db')).to.deep.equal({ namespace: 'deployments', label: 'web-db' });
    expect(parseSecretPath('a/b/c')).to.deep.equal({ namespace: 'a', label: 'b/c' });
    for (const text of ['', 'a', '/a']) expect(parseSecretPath(text)).to.equal(undefined);
  });

  it('stays where it starts', () => {
    for (const text of ['a/b', 'a..b/c', '...']) expect(isRelativePath(text), text).to.equal(true);
    for (const text of ['/a', '..', 'a/..', '../a', 'a/../b']) expect(isRelativePath(text), text).to.equal(false);
  });

  it('has labels and keys of their form', () => {
    for (const text of ['a', '1', 'a-b', 'a'.repeat(63)]) expect(isSecretLabel(text), text).to.equal(true);
    for (const text of ['', '-a', 'a-', 'A', 'a_b', 'a.b', 'a\n', 'a'.repeat(64)])
      expect(isSecretLabel(text), text).to.equal(false);
    for (const text of ['a', '_', 'A1_b']) expect(isSecretKey(text), text).to.equal(true);
    for (const text of ['', '1a', 'a-b', 'a.b', 'a\n', 'é', 'a'.repeat(129)])
      expect(isSecretKey(text), text).to.equal(false);
  });
});

describe('a template', () => {
  it('is text and placeholders', () => {
    expect(parseTemplate('a{{secret.db.user}}b')).to.deep.equal([
      { text: 'a' },
      { resource: 'db', key: 'user' },
      { text: 'b' },
    ]);
    expect(parseTemplate('{{secret.db.a}}{{secret.db.b}}')).to.have.length(2);
    expect(parseTemplate('}} {a}')).to.deep.equal([{ text: '}} {a}' }]);
    expect(parseTemplate('')).to.deep.equal([]);
  });

  for (const text of [
    '{{',
    '{{}}',
    '{{secret}}',
    '{{secret.a}}',
    '{{secret.a.b.c}}',
    '{{env.a.b}}',
    '{{{secret.a.b}}}',
    '{{secret.a.b}',
  ]) {
    it(`is none: ${text}`, () => expect(parseTemplate(text)).to.equal(undefined));
  }

  it('loses nothing when it is put together again', () => {
    const part = fc.oneof(
      fc.string().filter(text => !text.includes('{')),
      fc.constantFrom('{{secret.db.user}}', '{{secret.x-1.K_2}}'),
    );
    fc.assert(
      fc.property(fc.array(part), pieces => {
        const template = pieces.join('');
        const parts = parseTemplate(template) ?? [];
        const again = parts.map(each => ('text' in each ? each.text : `{{secret.${each.resource}.${each.key}}}`));
        expect(again.join('')).to.equal(template);
        expect(findPlaceholders(parts)).to.have.length(pieces.filter(text => text.startsWith('{{')).length);
      }),
      { numRuns: 1000 },
    );
  });
});
