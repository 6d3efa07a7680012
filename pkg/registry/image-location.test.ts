import { expect } from 'chai';

import { parseImageReference } from '../../crds/grammar/index.js';
import { parseHost } from './host.js';
import { locate } from './image-location.js';

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
      const found = locate(parseImageReference(text)!, hub);
      if (typeof found === 'string') throw new Error(found);
      expect([found.registry.text, found.repository, found.wanted]).to.deep.equal([registry, repository, wanted]);
    });
  }

  it('finds no registry where none is named and none is the default', () => {
    expect(locate(parseImageReference('nginx:1')!, undefined)).to.equal('no_registry');
  });

  it('finds no host where none can be so called', () => {
    expect(locate(parseImageReference('127.1:80/x:1')!, hub)).to.equal('host');
  });
});
