import { expect } from 'chai';

import { specifiedCodes } from './checks/specified-codes.js';
import { judgeConformance, renderConformance } from './conformance.js';

/** Kept apart from the text, so that the tags of the made-up tests are not taken for tags of this file. */
const tag = (ids: string) => `[${ids}]`;
const codes = Object.entries(specifiedCodes).flatMap(([section, all]) =>
  all.map((code, position) => ({ id: `${section}.${position + 1}`, code })),
);
const coded = `it('${tag(codes.map(({ id }) => id).join(' '))} earns every code')`;
const page = (rows: string) =>
  `${rows}\n${codes.map(({ id, code }) => `| ${id} | ${code} (computed): x | |`).join('\n')}\n`;
const table = (title: string) => `
const PATH = 'secrets[0].vault_path';
describeCodes('x', [
  {
    code: 'name_required',
    cases: [['${title}none', 'name', {}], ['a path', PATH, {}], ['a key', 'environment.A', {}]],
  },
]);`;
const files = (test: string, path = 'api/a.test.ts') => [
  { path: 'api/codes.test.ts', text: coded },
  { path, text: test },
];

describe('the sentences of the specification', () => {
  const sound: readonly [name: string, test: string, shown: string][] = [
    ['a title', `it('${tag('2.1')} says \\'so\\' | <n>', () => {})`, "says 'so' \\| &lt;n>"],
    ['one that is a template', `describe(\`${tag('1.1 2.1')} says \${so}\`, f)`, 'says ${so}'],
    ['the name of a case', `{\n  name:\n    '${tag('2.1')} a case' }`, 'a case'],
    ['the first entry of a row', `const rows = [['${tag('2.1')} a row', 1]];`, 'a row'],
    ['a case of a code', table(`${tag('2.1')} `), 'name_required: none'],
    ['a comment beside a case', `  { a: \`1\` }, // ${tag('2.1')}\n`, "`{ a: '1' }`"],
    ['a comment above a case', `  // ${tag('2.1')}\n  { a: 1 },\n`, '`{ a: 1 }`'],
  ];
  for (const [name, test, shown] of sound) {
    it(`have the tests that name them: ${name}`, () => {
      const before = page('| 1.1 | w | |\n| 2.1 | x \\| y | old |');
      const sources = [...files(test), { path: 'b.test.ts', text: `it('${tag('1.1')} w')` }];

      expect(judgeConformance(before, sources)).to.deep.equal([]);
      expect(renderConformance(before, sources)).to.contain(
        `\n| 2.1 | x \\| y | [\`api/a.test.ts\`](../api/a.test.ts): ${shown} |\n`,
      );
    });
  }

  const faults: readonly [name: string, rows: string, test: string, found: readonly string[]][] = [
    ['nobody tests', '| 2.1 | x | old |', `it('says so')`, ['2.1 "x": no test has [2.1] in its title']],
    [
      'stands in no title',
      '| 2.1 | x | |',
      `const a = '${tag('2.1')} x'; it.skip('${tag('2.1')} x')`,
      [
        'api/a.test.ts: [2.1] does not begin the title of a test, nor stands by a case',
        'api/a.test.ts: [2.1] does not begin the title of a test, nor stands by a case',
        '2.1 "x": no test has [2.1] in its title',
      ],
    ],
    [
      'is no sentence',
      '| 2.1 | x | |',
      `it('${tag('2.1 2.2')} x')`,
      ['api/a.test.ts: [2.2] is the number of no sentence in docs/conformance.md'],
    ],
    ['stands there twice', '| 2.1 | x | |\n| 2.1 | y | |', `it('${tag('2.1')} x')`, ['2.1: stands there twice']],
    [
      'is not built',
      '| 2.1 | x (not built yet: jobs) | |\n| 2.2 | y (not built yet: jobs) | |',
      `it('${tag('2.2')} y')`,
      ['2.2 "y (not built yet: jobs)": not built, yet api/a.test.ts has a test of it'],
    ],
    [
      'is about a code that is earned at another field',
      '| 2.1 | name_required (name, image, secrets[&lt;i>].vault_path, environment.&lt;key>): x | |',
      table(`${tag('2.1')} `),
      ['2.1: no case earns name_required at image'],
    ],
    [
      'is about a code that its table does not earn',
      '| 2.1 | image_required (image): x | |',
      table(`${tag('2.1')} `),
      ['2.1: no table earns image_required'],
    ],
  ];
  for (const [name, rows, test, found] of faults) {
    it(`find what ${name}`, () => {
      expect(judgeConformance(page(rows), files(test))).to.deep.equal(found);
    });
  }

  it('take only tests for tests', () => {
    expect(judgeConformance(page('| 2.1 | x | |'), files(`it('${tag('2.1')} x')`, 'api/a.ts'))).to.have.length(1);
  });

  it('are there for each code of the specification', () => {
    const without = page('').replace(/^.*name_required.*\n/m, '');
    const [first, ...others] = judgeConformance(without, files(''));
    expect(first).to.equal('api/codes.test.ts: [7.1.1] is the number of no sentence in docs/conformance.md');
    expect(others).to.deep.equal(['7.1 name_required: has no sentence']);
  });
});
