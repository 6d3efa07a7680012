import { readFileSync } from 'node:fs';

import { expect } from 'chai';

describe('the npm package', () => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: readonly string[] };
  const programs = [...readFileSync('moor', 'utf8').matchAll(/main=(\S+)\.ts/g)].map(([, path]) => path!);

  for (const program of new Set(programs)) {
    it(`has the program ${program}, which moor starts`, () => expect(files).to.include(`dist/${program}.js`));
  }
});
