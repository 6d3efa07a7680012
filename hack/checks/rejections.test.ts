import { expect } from 'chai';

import { judgeRejections } from './rejections.js';
import type { Source } from './source-files.js';
import { later, specifiedCodes } from './specified-codes.js';

const row = (section: string) => ({ section, why: 'w', remedy: 'r', example: 'e', fixed: 'm' });
const present = Object.entries(specifiedCodes).flatMap(([section, codes]) =>
  codes.map(code => [code, row(section)] as const),
);
const sound = Object.fromEntries(present);
const literals = present.map(([code]) => `'${code}'`).join(' ');
const sources: readonly Source[] = [
  { path: 'crds/x/rules.ts', text: literals },
  { path: 'crds/x/rules.test.ts', text: literals },
];

describe('check of the rejections', () => {
  it('knows the 83 codes of the specification', () => {
    const codes = Object.values(specifiedCodes).map(list => list.length);
    expect(codes).to.deep.equal([13, 5, 34, 10, 21]);
  });

  const cases: ReadonlyArray<{
    name: string;
    groups: Parameters<typeof judgeRejections>[0];
    sources: readonly Source[];
    found: string[];
  }> = [
    { name: 'passes a sound catalogue', groups: [sound], sources, found: [] },
    {
      name: 'sees a code declared twice',
      groups: [sound, { name_required: row('7.1') }],
      sources,
      found: ['name_required: declared twice'],
    },
    {
      name: 'sees a code without a remedy',
      groups: [{ ...sound, name_required: { ...row('7.1'), remedy: '' } }],
      sources,
      found: ['name_required: has no remedy'],
    },
    {
      name: 'sees a code that nothing answers and nothing tests',
      groups: [{ ...sound, our_own: row('ours') }],
      sources,
      found: ['our_own: never answered', 'our_own: expected by no test'],
    },
    {
      name: 'does not take a test for an answer',
      groups: [{ ...sound, our_own: row('ours') }],
      sources: [...sources, { path: 'api/a.test.ts', text: "'our_own'" }],
      found: ['our_own: never answered'],
    },
    {
      name: 'sees a code of the specification that is missing',
      groups: [Object.fromEntries(present.filter(([code]) => code !== 'image_required'))],
      sources,
      found: ['image_required: named by section 7.1 and not declared'],
    },
    {
      name: 'sees a code in the wrong section',
      groups: [{ ...sound, name_required: row('7.2') }],
      sources,
      found: ['name_required: belongs to section 7.1, not 7.2'],
    },
    {
      name: 'sees a code that is no longer later',
      groups: [sound],
      sources: [...sources, { path: 'api/a.test.ts', text: `'${later[0]}'` }],
      found: [`${later[0]}: listed as later, yet expected over HTTP`],
    },
    {
      name: 'lets a code that is later be unanswered',
      groups: [sound],
      sources: sources.map(({ path, text }) => ({ path, text: text.replaceAll(`'${later[0]}'`, '') })),
      found: [],
    },
  ];

  for (const { name, groups, sources: given, found } of cases) {
    it(name, () => {
      expect(judgeRejections(groups, given)).to.deep.equal(found);
    });
  }
});
