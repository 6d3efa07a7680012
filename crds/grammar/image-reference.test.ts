import { expect } from 'chai';
import fc from 'fast-check';

import { assertLinearCost } from '../../dev/testing/index.js';
import { isPinned, parseImageReference } from './image-reference.js';

const sha256 = `sha256:${'f'.repeat(64)}`;
const sha512 = `sha512:${'f'.repeat(128)}`;

/** The table of distribution/reference's own tests. */
const accepted: ReadonlyArray<{ text: string; name: string; domain?: string; tag?: string; digest?: string }> = [
  { text: 'test_com', name: 'test_com' },
  { text: 'test.com:tag', name: 'test.com', tag: 'tag' },
  { text: 'test.com:5000', name: 'test.com', tag: '5000' },
  { text: 'test.com/repo:tag', name: 'test.com/repo', domain: 'test.com', tag: 'tag' },
  { text: 'test:5000/repo', name: 'test:5000/repo', domain: 'test:5000' },
  { text: 'test:5000/repo:tag', name: 'test:5000/repo', domain: 'test:5000', tag: 'tag' },
  { text: `test:5000/repo@${sha256}`, name: 'test:5000/repo', domain: 'test:5000', digest: sha256 },
  { text: `test:5000/repo:tag@${sha256}`, name: 'test:5000/repo', domain: 'test:5000', tag: 'tag', digest: sha256 },
  { text: 'lowercase:Uppercase', name: 'lowercase', tag: 'Uppercase' },
  {
    text: `${'a/'.repeat(127)}a:tag-puts-this-over-max`,
    name: `${'a/'.repeat(127)}a`,
    domain: 'a',
    tag: 'tag-puts-this-over-max',
  },
  { text: 'sub-dom1.foo.com/bar/baz/quux', name: 'sub-dom1.foo.com/bar/baz/quux', domain: 'sub-dom1.foo.com' },
  {
    text: 'sub-dom1.foo.com/bar/baz/quux:some-long-tag',
    name: 'sub-dom1.foo.com/bar/baz/quux',
    domain: 'sub-dom1.foo.com',
    tag: 'some-long-tag',
  },
  {
    text: 'b.gcr.io/test.example.com/my-app:test.example.com',
    name: 'b.gcr.io/test.example.com/my-app',
    domain: 'b.gcr.io',
    tag: 'test.example.com',
  },
  { text: 'xn--n3h.com/myimage:xn--n3h.com', name: 'xn--n3h.com/myimage', domain: 'xn--n3h.com', tag: 'xn--n3h.com' },
  {
    text: `xn--7o8h.com/myimage:xn--7o8h.com@${sha512}`,
    name: 'xn--7o8h.com/myimage',
    domain: 'xn--7o8h.com',
    tag: 'xn--7o8h.com',
    digest: sha512,
  },
  { text: 'foo_bar.com:8080', name: 'foo_bar.com', tag: '8080' },
  { text: 'foo/foo_bar.com:8080', name: 'foo/foo_bar.com', domain: 'foo', tag: '8080' },
  { text: '192.168.1.1', name: '192.168.1.1' },
  { text: '192.168.1.1:tag', name: '192.168.1.1', tag: 'tag' },
  { text: '192.168.1.1:5000', name: '192.168.1.1', tag: '5000' },
  { text: '192.168.1.1/repo', name: '192.168.1.1/repo', domain: '192.168.1.1' },
  { text: '192.168.1.1:5000/repo', name: '192.168.1.1:5000/repo', domain: '192.168.1.1:5000' },
  { text: '192.168.1.1:5000/repo:5050', name: '192.168.1.1:5000/repo', domain: '192.168.1.1:5000', tag: '5050' },
  { text: '[2001:db8::1]/repo', name: '[2001:db8::1]/repo', domain: '[2001:db8::1]' },
  {
    text: '[2001:db8:1:2:3:4:5:6]/repo:tag',
    name: '[2001:db8:1:2:3:4:5:6]/repo',
    domain: '[2001:db8:1:2:3:4:5:6]',
    tag: 'tag',
  },
  { text: '[2001:db8::1]:5000/repo', name: '[2001:db8::1]:5000/repo', domain: '[2001:db8::1]:5000' },
  { text: '[2001:db8::1]:5000/repo:tag', name: '[2001:db8::1]:5000/repo', domain: '[2001:db8::1]:5000', tag: 'tag' },
  {
    text: `[2001:db8::1]:5000/repo@${sha256}`,
    name: '[2001:db8::1]:5000/repo',
    domain: '[2001:db8::1]:5000',
    digest: sha256,
  },
  { text: '[::1]:5000/repo', name: '[::1]:5000/repo', domain: '[::1]:5000' },
  { text: 'Uppercase/lowercase:tag', name: 'Uppercase/lowercase', domain: 'Uppercase', tag: 'tag' },
  { text: 'a__b/c--d/e.f:1', name: 'a__b/c--d/e.f', tag: '1' },
  { text: `x:${'t'.repeat(128)}`, name: 'x', tag: 't'.repeat(128) },
];

const refused: readonly string[] = [
  '',
  ':justtag',
  sha256,
  sha512,
  'sha256:abcdef123456',
  `sha256:abc@${sha256}`,
  `@${sha256}`,
  `repo@sha256:${'f'.repeat(34)}`,
  `repo@sha256:${'F'.repeat(64)}`,
  `validname@invaliddigest:${'f'.repeat(128)}`,
  'Uppercase:tag',
  'test:5000/Uppercase/lowercase:tag',
  `${'a/'.repeat(128)}a:tag`,
  'aa/asdf$$^/aa',
  '[2001:db8::1]',
  '[2001:db8::1]:5000',
  '[2001:db8::1]:tag',
  '[fe80::1%eth0]:5000/repo',
  '[fe80::1%@invalidzone]:5000/repo',
  '-bad:1',
  'x:lat est',
  `x:${'t'.repeat(129)}`,
  'x:-tag',
  'x:.tag',
  'a//b:1',
  '/a:1',
  'a/:1',
  'a___b:1',
  'a._b:1',
  'a.:1',
  'registry.example.com/:1',
  'a:1\n',
  'a:1 ',
  'http://example.com/a:1',
  'a:1:2',
  `a@${sha256}@${sha256}`,
  `a@${sha256}:1`,
];

describe('image reference', () => {
  for (const { text, ...parts } of accepted) {
    it(`reads ${text.slice(0, 60)}`, () => {
      expect(parseImageReference(text)).to.deep.equal(parts);
    });
  }

  for (const text of refused) {
    it(`refuses ${JSON.stringify(text.slice(0, 60))}`, () => {
      expect(parseImageReference(text)).to.equal(undefined);
    });
  }

  const pins: ReadonlyArray<[string, boolean]> = [
    ['nginx', false],
    ['nginx:latest', false],
    [`nginx:latest@${sha256}`, false],
    ['nginx:1', true],
    ['nginx:Latest', true],
    [`nginx@${sha256}`, true],
    ['latest:5', true],
    ['host:5000/latest', false],
  ];
  for (const [text, pinned] of pins) {
    it(`[2.2.11] takes ${text.slice(0, 30)} for ${pinned ? 'pinned' : 'unpinned'}`, () => {
      const reference = parseImageReference(text);
      expect(reference && isPinned(reference)).to.equal(pinned);
    });
  }

  it('gives back the parts that a reference was made from', () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,8}(?:(?:[._]|__|-{1,3})[a-z0-9]{1,8}){0,2}$/);
    const host = fc.stringMatching(/^[a-z0-9]{1,8}\.[a-z0-9]{1,8}(?::[0-9]{1,5})?$/);
    const tag = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}$/);
    const path = fc.array(part, { minLength: 1, maxLength: 4 }).map(parts => parts.join('/'));
    fc.assert(
      fc.property(host, path, tag, fc.boolean(), (domain, repository, version, withDigest) => {
        const name = `${domain}/${repository}`;
        const text = `${name}:${version}${withDigest ? `@${sha256}` : ''}`;
        expect(parseImageReference(text)).to.deep.equal({
          name,
          domain,
          tag: version,
          ...(withDigest && { digest: sha256 }),
        });
      }),
      { numRuns: 1000 },
    );
  });

  it('never throws, and what it reads is what was written', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60, unit: fc.constantFrom(...'aZ0.-_/:@[] \n'.split('')) }), text => {
        const read = parseImageReference(text);
        if (!read) return;
        const { name, tag, digest } = read;
        expect(`${name}${tag ? `:${tag}` : ''}${digest ? `@${digest}` : ''}`).to.equal(text);
      }),
      { numRuns: 1000 },
    );
  });

  const baits: readonly [unit: string, size: number][] = [
    ['a', 520],
    ['a-', 520],
    ['a.', 520],
    ['-', 520],
    ['a/', 500],
    ['a_', 2e6],
  ];
  for (const [unit, size] of baits) {
    it(`reads ${size} characters of ${unit} at a cost in proportion to their number`, () =>
      assertLinearCost({
        size,
        prepare: length => `${unit.repeat(length / unit.length)}!`,
        run: parseImageReference,
      }));
  }
});
