import { expect } from 'chai';
import fc from 'fast-check';

import { parseImageReference } from '../../crds/grammar/index.js';
import { isSameHost, locateImage, parseHost } from './image-location.js';
import { splitIntoWords } from './registry-lab.testing.js';

const digest = `sha256:${'a'.repeat(64)}`;

describe('location of an image', () => {
  const hub = parseHost('hub.example');
  const table: ReadonlyArray<readonly [text: string, registry: string, repository: string, wanted: string]> = [
    ['nginx:1', 'hub.example', 'library/nginx', '1'],
    ['shop/web:1', 'hub.example', 'shop/web', '1'],
    ['localhost/web:1', 'localhost', 'web', '1'],
    ['localhost:5000/a/b:1', 'localhost:5000', 'a/b', '1'],
    ['a.b/c/d:1', 'a.b', 'c/d', '1'],
    ['Shop/web:1', 'shop', 'web', '1'],
    ['[::1]:5000/web:1', '[::1]:5000', 'web', '1'],
    [`a.b/c:1@${digest}`, 'a.b', 'c', digest],
    ['2130706433/x:1', 'hub.example', '2130706433/x', '1'],
  ];
  for (const [text, registry, repository, wanted] of table) {
    it(`finds ${text.slice(0, 40)}`, () => {
      const found = locateImage(parseImageReference(text)!, hub);
      if (typeof found === 'string') throw new Error(found);
      expect([found.registry.text, found.repository, found.reference]).to.deep.equal([registry, repository, wanted]);
    });
  }

  it('finds no registry where none is named and none is the default', () => {
    expect(locateImage(parseImageReference('nginx:1')!, undefined)).to.equal('no_registry');
  });

  it('refuses an invalid host', () => {
    expect(locateImage(parseImageReference('127.1:80/x:1')!, hub)).to.equal('host');
  });
});

describe('host of a registry', () => {
  const read: ReadonlyArray<readonly [text: string, name: string, port: number | undefined, canonical: string]> = [
    ['registry.example.com', 'registry.example.com', undefined, 'registry.example.com'],
    ['Registry.Example.com:5000', 'registry.example.com', 5000, 'registry.example.com:5000'],
    ['registry:05000', 'registry', 5000, 'registry:5000'],
    ['127.0.0.1:7071', '127.0.0.1', 7071, '127.0.0.1:7071'],
    ['[::1]:5000', '::1', 5000, '[::1]:5000'],
    ['[2001:DB8:0:0::1]', '2001:db8::1', undefined, '[2001:db8::1]'],
    ['1.example', '1.example', undefined, '1.example'],
    ['xn--n3h.com', 'xn--n3h.com', undefined, 'xn--n3h.com'],
  ];
  for (const [text, name, port, canonical] of read) {
    it(`reads ${text}`, () => {
      const host = parseHost(text);
      expect([host?.name, host?.port, host?.text]).to.deep.equal([name, port, canonical]);
    });
  }

  const refused: readonly string[] = [
    ...splitIntoWords(`
      :5000 a: a:0 a:65536 a:123456 a/b a@b a?b a#b http://a 2130706433 127.1 127.0.0.256 0177.0.0.1 0x7f000001 0x7f.1
      1.2.3.4.5 a.1 a.0x a..b .a a. -a.b a-.b a_b.c café.example １.example [::1 ::1 [::g] [1.2.3.4] [::ffff:1.2.3.4]
      [fe80::1%eth0] [] [:::] [::1]a`),
    '',
    'a b',
    'a\n',
    'a\\b',
    `${'a'.repeat(64)}.b`,
    `${'a.'.repeat(127)}b`,
  ];
  for (const text of refused) {
    it(`refuses ${JSON.stringify(text.slice(0, 30))}`, () => {
      expect(parseHost(text)).to.equal(undefined);
    });
  }

  it('reads its own spelling the same, and what a URL makes of it', () => {
    const unit = fc.constantFrom(...'aZ019.-:[]f'.split(''));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 24 }), text => {
        const host = parseHost(text);
        if (!host) return;
        expect(parseHost(host.text)).to.deep.equal(host);
        expect(new URL(`ftp://${host.text}`).hostname.replace(/^\[|\]$/g, '')).to.equal(host.name);
      }),
      { numRuns: 2000 },
    );
  });

  it('uses the port of https by default', () => {
    const [bare, tls, other] = [parseHost('a.b')!, parseHost('a.b:443')!, parseHost('a.b:444')!];
    expect([isSameHost(bare, tls), isSameHost(bare, other)]).to.deep.equal([true, false]);
  });
});
