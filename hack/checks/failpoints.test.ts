import { expect } from 'chai';

import { judgeFailpoints } from './failpoints.js';
import type { Source } from './source-files.js';

const passed: Source = { path: 'api/a.ts', text: "failpoint('a.b');" };
const tested: Source = { path: 'e2e/stories/a.test.ts', text: "const all = ['a.b'];" };

describe('check of the failpoints', () => {
  const cases: ReadonlyArray<{ name: string; sources: readonly Source[]; found: readonly string[] }> = [
    { name: 'passes one that is passed once and tested', sources: [passed, tested], found: [] },
    {
      name: 'passes one that is given to the routine that passes it',
      sources: [{ ...passed, text: "points: ['a.b', 'a.c']," }, tested],
      found: [],
    },
    { name: 'sees one that is passed nowhere', sources: [tested], found: ['passed at 0 places'] },
    { name: 'sees one that is passed twice', sources: [passed, passed, tested], found: ['passed at 2 places'] },
    { name: 'sees one without a test', sources: [passed], found: ['named in no test'] },
    {
      name: 'does not take the tests of failpoints themselves for a test',
      sources: [passed, { ...tested, path: 'pkg/failpoint/index.test.ts' }],
      found: ['named in no test'],
    },
  ];

  for (const { name, sources, found } of cases) {
    it(name, () => {
      const judged = judgeFailpoints(['a.b'], sources);
      expect(judged.map(line => found.some(part => line.includes(part)))).to.deep.equal(found.map(() => true));
    });
  }
});
