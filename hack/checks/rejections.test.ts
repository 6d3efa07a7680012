import { expect } from 'chai';

import { judgeRejections } from './rejections.js';
import type { Source } from './source-files.js';
import { specifiedCodes } from './specified-codes.js';

const row = (section: string) => ({ section, why: 'w', remedy: 'r', example: 'e', fixed: 'm' });
const present = Object.entries(specifiedCodes).flatMap(([section, codes]) =>
  codes.map(code => [code, row(section)] as const),
);
const sound = Object.fromEntries(present);
const literals = present.map(([code]) => `'${code}'`).join(' ');
const sources: readonly Source[] = [
  { path: 'crds/x/rules.ts', text: literals },
  { path: 'api/x/routes.test.ts', text: literals },
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
      name: 'sees a code of the specification that no test over HTTP expects',
      groups: [sound],
      sources: sources.map(({ path, text }) => ({
        path,
        text: path.startsWith('api/') ? text.replaceAll("'name_required'", '') : text,
      })),
      found: ['name_required: expected by no test', 'name_required: never expected over HTTP'],
    },
    {
      name: 'does not take a test of rules for one over HTTP',
      groups: [sound],
      sources: sources.map(({ path, text }) => ({ path: path.replace('api/', 'crds/'), text })),
      found: present.map(([code]) => `${code}: never expected over HTTP`),
    },
  ];

  for (const { name, groups, sources: given, found } of cases) {
    it(name, () => {
      expect(judgeRejections(groups, given)).to.deep.equal(found);
    });
  }
});
