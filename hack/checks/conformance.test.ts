import { expect } from 'chai';

import { differs, holds, inSection, notBuilt, type Sentence, testsIn } from '../conformance/sentence.js';
import { CODE_TITLE, judgeConformance } from './conformance.js';
import { specifiedCodes } from './specified-codes.js';
import type { Source } from './source-files.js';

const sources: readonly Source[] = [
  {
    path: 'api/a.test.ts',
    text: `
      const PATH = 'secrets[0].vault_path';
      it('says so', () => {});
      it(\`refuses \${name}, "as \${code}"\`, () => {});
      const rows = [['a first entry', 1], { name: 'a named row', given: {
        a: 1,
      } }];
      const other = 'is no title';
      describeCodes('x', [
        {
          code: 'name_required',
          cases: [['none', 'name', {}], ['a path', PATH, {}]],
        },
        {
          code: 'image_required',
          cases: [['none', 'environment.A', {}]],
        },
      ]);`.replace(/^ {6}(?=const PATH)/m, ''),
  },
  { path: 'api/a.ts', text: `it('says so')` },
];
const a = testsIn('api/a.test.ts');
/** One row for each code, so that none is missing. */
const allCodes: readonly Sentence[] = Object.entries(specifiedCodes).flatMap(([section, codes]) =>
  codes.map(code => ({ section, text: code, tests: [a('says so')], rejection: { code, field: 'computed' } })),
);
const judge = (...rows: readonly Sentence[]) => judgeConformance([...allCodes, ...rows], sources, ['0001-a.md']);
const coded = (code: string, field: string): Sentence => ({
  section: '7',
  text: 'x',
  tests: [a(CODE_TITLE)],
  rejection: { code, field },
});

describe('check of the sentences of the specification', () => {
  const cases: readonly [name: string, rows: readonly Sentence[], found: readonly string[]][] = [
    ['passes a sentence with a test', inSection('2', holds('x', a('says so'))), []],
    ['knows a title that is a template', inSection('2', holds('x', a('refuses ${name}, "as ${code}"'))), []],
    ['knows titles in tables', inSection('2', holds('x', a('a first entry'), a('a named row'))), []],
    ['knows a case, however it is broken into lines', inSection('2', holds('x', a('a named row', '{ a: 1 } }'))), []],
    ['passes what is not built', inSection('2', notBuilt('volumes', 'x')), []],
    [
      'passes a difference that was decided',
      inSection('2', differs({ adr: '0001-a.md', because: 'y' }, 'x', a('says so'))),
      [],
    ],
    [
      'finds a difference that nobody decided, and one of which nothing is tested',
      inSection('2', differs({ adr: '0002-b.md', because: 'y' }, 'x')),
      ['2 "x": no test, and not said to be unbuilt', '2 "x": there is no docs/adr/0002-b.md'],
    ],
    ['finds a sentence without a test', inSection('2', holds('x')), ['2 "x": no test, and not said to be unbuilt']],
    [
      'finds a sentence that stands there twice',
      inSection('2', notBuilt('jobs', 'x'), notBuilt('jobs', 'x')),
      ['2 "x": stands there twice'],
    ],
    [
      'finds a file that is missing',
      inSection('2', holds('x', testsIn('api/b.test.ts')('says so'))),
      ['2 "x": there is no test file api/b.test.ts'],
    ],
    [
      'does not take another file for a test',
      inSection('2', holds('x', testsIn('api/a.ts')('says so'))),
      ['2 "x": there is no test file api/a.ts'],
    ],
    [
      'finds a title that is missing',
      inSection('2', holds('x', a('says'))),
      ['2 "x": api/a.test.ts has no test "says"'],
    ],
    [
      'does not take any text for a title',
      inSection('2', holds('x', a('is no title'))),
      ['2 "x": api/a.test.ts has no test "is no title"'],
    ],
    [
      'finds a case that is missing',
      inSection('2', holds('x', a('a named row', '{ a: 2 }'))),
      ['2 "x": api/a.test.ts has no case { a: 2 }'],
    ],
    [
      'finds a test of what is said not to be built',
      inSection('2', { ...notBuilt('jobs', 'x'), tests: [a('says so')] }),
      ['2 "x": said not to be built (jobs), yet a test is named'],
    ],
    [
      'finds a test that says what is said not to be built',
      inSection('2', notBuilt('jobs', 'says so')),
      ['2 "says so": not built, yet a test in api/a.test.ts says it'],
    ],
    ['knows the field of a code', [coded('name_required', 'name, secrets[<i>].vault_path')], []],
    ['knows a field with a part of the client’s', [coded('image_required', 'environment.<key>')], []],
    [
      'finds a code that is not earned at its field',
      [coded('image_required', 'image')],
      ['7 "x": no case earns image_required at image'],
    ],
    [
      'finds a code that no table earns',
      [coded('replicas_negative', 'replicas')],
      ['7 "x": no table earns replicas_negative'],
    ],
  ];
  for (const [name, rows, found] of cases) {
    it(name, () => {
      expect(judge(...rows)).to.deep.equal(found);
    });
  }

  it('finds a code of the specification without a row', () => {
    expect(judgeConformance(allCodes.slice(1), sources, [])).to.deep.equal(['7.1 name_required: has no row']);
  });
});
