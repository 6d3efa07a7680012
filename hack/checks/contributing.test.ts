import { existsSync, readFileSync } from 'node:fs';

import { expect } from 'chai';

import { readSources } from './source-files.js';

/** A recipe that names what no longer exists sends its reader astray: paths, targets of make and identifiers are looked up. */
describe('CONTRIBUTING.md', () => {
  const text = readFileSync('CONTRIBUTING.md', 'utf8');
  const quoted = [...new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, inner]) => inner!))];
  const sources = readSources();

  for (const subject of ['field', 'kind', 'loop', 'CLI command']) {
    it(`has the recipe for a ${subject}`, () => expect(text).to.match(new RegExp(`^## Recipe: add a ${subject}`, 'm')));
  }

  for (const path of quoted.filter(each => /^[\w.-]+\/[\w./-]*$/.test(each))) {
    it(`names ${path}, which exists`, () => expect(existsSync(path)).to.equal(true));
  }

  for (const [, target] of quoted.flatMap(each => [...each.matchAll(/^make ([a-z-]+)/g)])) {
    it(`names make ${target}, which exists`, () => {
      expect(readFileSync('Makefile', 'utf8')).to.match(new RegExp(`^${target}:`, 'm'));
    });
  }

  for (const name of quoted.filter(each => /^[a-z]+[A-Z]\w*$|^[A-Z]\w+$|^[a-z]{5,}$/.test(each))) {
    it(`names ${name}, which some file exports`, () => {
      const declared = new RegExp(`^export .*\\b${name}\\b`, 'm');
      expect(sources.some(source => declared.test(source.text))).to.equal(true);
    });
  }
});
