import { expect } from 'chai';

import { findCircles } from './circles.js';
import { findUnlistedKinds } from './kinds.js';
import { findOvergrownRooms } from './lines.js';
import { checkLayout, findUndescribedFolders, findUnmarkedTestCode } from './layout.js';
import { findSharedNames } from './names.js';
import type { Source } from './source-files.js';
import { findAssertedTimes } from './times.js';
import { findOwnCommits } from './writes.js';

interface Case {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly found: readonly RegExp[];
}

function table(check: (sources: readonly Source[]) => readonly string[], cases: readonly Case[]): void {
  for (const { name, files, found } of cases) {
    it(name, () => {
      const findings = check(Object.entries(files).map(([path, text]) => ({ path, text })));
      expect(findings, findings.join('\n')).to.have.length(found.length);
      for (const [position, pattern] of found.entries()) expect(findings[position]).to.match(pattern);
    });
  }
}

describe('check of import circles', () =>
  table(findCircles, [
    {
      name: 'passes a chain and a diamond',
      files: {
        'a/a.ts': "import './b.js';\nimport './c.js';\n",
        'a/b.ts': "import './d.js';\n",
        'a/c.ts': "export * from './d.js';\n",
        'a/d.ts': '',
      },
      found: [],
    },
    {
      name: 'finds a circle of type imports and says the way round',
      files: {
        'a/a.ts': "import type { B } from './b.js';\n",
        'a/b.ts': "import {\n  type C,\n} from '../c/c.js';\n",
        'c/c.ts': "export type { A } from '../a/a.js';\n",
      },
      found: [/^a\/a\.ts: import circle a\/a\.ts → a\/b\.ts → c\/c\.ts → a\/a\.ts$/],
    },
  ]));

describe('check of writes', () =>
  table(findOwnCommits, [
    {
      name: 'passes the room of writes, the door of the agents, tests and what commits elsewhere',
      files: {
        'api/write/committer.ts': 'await this.#env.store.commit(change);',
        'api/routes/agent/routes.ts': 'await env.store.commit(change);',
        'api/routes/gadget/routes.test.ts': 'await lab.store.commit(change);',
        'controllers/gadget/index.ts': 'await env.commit(change);',
      },
      found: [],
    },
    {
      name: 'finds a commit of a kind, and a call of what commits',
      files: {
        'api/routes/gadget/routes.ts': 'const verdict = await env.store.commit(change);',
        'api/k8s/gadget.ts': "import { type Entry, replace } from '../../pkg/store/index.js';",
      },
      found: [/^api\/routes\/gadget\/routes\.ts: changes the store itself/, /^api\/k8s\/gadget\.ts/],
    },
  ]));

describe('check of lines', () =>
  table(
    sources => findOvergrownRooms(sources, { 'pkg/gadget': 2, tests: 2, 'pkg/gone': 1 }),
    [
      {
        name: 'finds a room that has grown beyond its budget, one without a budget, and a budget without a room',
        files: {
          'pkg/gadget/index.ts': 'a\nb\nc\n',
          'pkg/gadget/index.test.ts': 'a\n',
          'e2e/story.ts': 'a\n',
          'controllers/list.ts': 'a\n',
        },
        found: [/^pkg\/gadget: 3 lines, its budget is 2/, /^controllers: has no budget/, /^pkg\/gone: has a budget/],
      },
    ],
  ));

describe('check of exported names', () => {
  table(
    sources => findSharedNames(sources, {}),
    [
      {
        name: 'passes a name that one file declares and others re-export',
        files: { 'a/b.ts': 'export interface Answer {\n', 'a/index.ts': "export type { Answer } from './b.js';\n" },
        found: [],
      },
      {
        name: 'passes a private name and an overloaded function',
        files: {
          'a.ts': 'export function read(a: string): void;\nexport function read(a: number): void;\n',
          'b.ts': 'function read() {}\n',
        },
        found: [],
      },
      {
        name: 'finds a name that two files declare, whatever it is in each',
        files: { 'a.ts': 'export const answer = 1;\n', 'b.ts': 'export async function answer() {}\n' },
        found: [/a\.ts: answer is also declared in b\.ts/],
      },
      {
        name: 'passes what is imported and exported under its own name',
        files: {
          'a.ts': 'export const answer = 1;\n',
          'b.ts': "import { answer } from './a.js';\nexport { answer };\n",
        },
        found: [],
      },
      ...[
        'const answer = 2;\nexport { answer };\n',
        'function reply() {}\nexport { reply as answer };\n',
        "export { reply as answer } from './c.js';\n",
        'export const enum answer {}\n',
        'export namespace answer {}\n',
      ].map(text => ({
        name: `finds a name that a second file declares as ${JSON.stringify(text)}`,
        files: { 'a.ts': 'export const answer = 1;\n', 'b.ts': text },
        found: [/a\.ts: answer is also declared in b\.ts/],
      })),
    ],
  );

  it('finds an allowance that nothing needs', () => {
    expect(findSharedNames([], { answer: 'why' })[0]).to.include('answer is allowed to be shared');
  });
});

describe('check of files', () =>
  table(
    sources => [...checkLayout(sources), ...findUnmarkedTestCode(sources)],
    [
      { name: 'passes a file of ordinary length', files: { 'pkg/a/a.ts': 'x\n'.repeat(300) }, found: [] },
      { name: 'finds a file that is too long', files: { 'pkg/a/a.ts': 'x\n'.repeat(401) }, found: [/401 lines/] },
      { name: 'lets a test be longer', files: { 'pkg/a/a.test.ts': 'x\n'.repeat(500) }, found: [] },
      { name: 'finds a name that says nothing', files: { 'pkg/utils.ts': '' }, found: [/does not say what is in it/] },
      {
        name: 'finds another suffix for helpers of tests',
        files: { 'pkg/a.fixture.ts': '' },
        found: [/\.testing\.ts/],
      },
      {
        name: 'finds a file of the product that only tests import',
        files: { 'pkg/lab.ts': '', 'pkg/a.test.ts': "import './lab.js';\n" },
        found: [/^pkg\/lab\.ts: only tests import it/],
      },
      {
        name: 'passes one that a test and the product import',
        files: { 'pkg/lab.ts': '', 'pkg/a.test.ts': "import './lab.js';\n", 'api/a.ts': "import '../pkg/lab.js';\n" },
        found: [],
      },
    ],
  ));

describe('check of folders', () =>
  table(findUndescribedFolders, [
    { name: 'passes a folder with a README', files: { 'pkg/a/README.md': '# a', 'pkg/a/a.ts': '' }, found: [] },
    { name: 'passes an index that says it', files: { 'pkg/a/index.ts': '/** The letter. */\n' }, found: [] },
    {
      name: 'passes a folder that one above names, by itself or for every kind',
      files: {
        'api/index.ts': '/** `http/` and `routes/<kind>/` */',
        'api/http/body.ts': '',
        'api/routes/job/get.ts': '',
      },
      found: [],
    },
    {
      name: 'passes a folder that the README of the project names, and a program that begins with how it is run',
      files: { 'README.md': '`tools/`', 'tools/a.ts': '', 'up/main.ts': '#!/usr/bin/env node\n/** All of it. */\n' },
      found: [],
    },
    { name: 'finds a README without a word', files: { 'a/README.md': '\n' }, found: [/^a: nothing says/] },
    {
      name: 'finds a folder of which nothing is said',
      files: { 'pkg/a/index.ts': '/** The letter. */', 'pkg/a/b/c.ts': '' },
      found: [/^pkg\/a\/b: nothing says what it is for/],
    },
    {
      name: 'finds an index that says nothing',
      files: { 'pkg/a/index.ts': "export * from './a.js';\n" },
      found: [/^pkg\/a: nothing says/],
    },
    {
      name: 'finds a folder whose name is only part of another that is named',
      files: { 'api/README.md': '`pods-http/`', 'api/http/body.ts': '' },
      found: [/^api\/http: nothing says/],
    },
  ]));

describe('check of asserted times', () => {
  table(findAssertedTimes, [
    {
      name: 'passes a deadline that is only waited for',
      files: {
        'a.test.ts': 'const end = Date.now() + 5;\nwhile (Date.now() < end) await poll();\nexpect(n).to.equal(1);\n',
      },
      found: [],
    },
    {
      name: 'passes a comparison of what was counted',
      files: { 'a.test.ts': 'const now = Date.now();\nexpect(steps).to.be.below(5);\n' },
      found: [],
    },
    {
      name: 'finds a difference of two readings',
      files: { 'a.test.ts': 'const begun = performance.now();\nexpect(performance.now() - begun).to.be.below(5);\n' },
      found: [/a\.test\.ts:2/],
    },
    {
      name: 'finds one that went through variables',
      files: {
        'a.test.ts':
          'const { user } = process.cpuUsage(before);\nconst spent = user / 1000;\nexpect(Math.min(spent)).to.be.at.most(50);\n',
      },
      found: [/a\.test\.ts:3/],
    },
    {
      name: 'finds a limit in milliseconds in a test of real processes',
      files: { 'e2e/stories/a.test.ts': 'expect(took).to.be.within(0, LIMIT_MS);\n' },
      found: [/a\.test\.ts:1/],
    },
    {
      name: 'passes a limit in milliseconds of a simulated clock',
      files: { 'pkg/a.test.ts': 'expect(clock.now()).to.be.below(LIMIT_MS);\n' },
      found: [],
    },
  ]);

  const cases = (found: readonly RegExp[], files: Readonly<Record<string, readonly string[]>>) =>
    table(
      findAssertedTimes,
      Object.entries(files).map(([name, [path, ...lines]]) => ({
        name,
        files: { [path!]: `${lines.join('\n')}\n` },
        found,
      })),
    );

  cases([/: asserts an absolute time$/], {
    'finds a comparison inside expect': ['a.test.ts', 'expect(Date.now() - b < 50).to.equal(true);'],
    'finds a comparison inside assert': [
      'a.test.ts',
      'const elapsed = performance.now() - begun;',
      'assert.ok(elapsed < 50);',
    ],
    'finds a comparison by name of assert': ['a.test.ts', 'assert.isBelow(performance.now() - begun, 50);'],
    'finds closeTo': ['a.test.ts', 'expect(performance.now() - begun).to.be.closeTo(50, 5);'],
    'finds a verdict that went through a variable': [
      'a.test.ts',
      'const isFast = performance.now() - begun < 50;',
      'expect(isFast).to.equal(true);',
    ],
    'finds a throw': ['a.test.ts', "if (performance.now() - begun > 50) throw new Error('slow');"],
    'finds a throw in a block': ['a.test.ts', 'if (performance.now() - begun > 50) {', '  throw new Error();', '}'],
    'finds a failure that is called': ['a.test.ts', "if (performance.now() - begun > 50) expect.fail('slow');"],
    'finds a date as a number': [
      'a.test.ts',
      'const begun = +new Date();',
      'expect(+new Date() - begun).to.be.below(5);',
    ],
    'finds the time of a date': [
      'a.test.ts',
      'const took = new Date().getTime() - begun;',
      'expect(took).to.be.below(5);',
    ],
    'finds a measure': [
      'a.test.ts',
      "const { duration } = performance.measure('a');",
      'expect(duration).to.be.below(5);',
    ],
    'finds a high-resolution time': [
      'a.test.ts',
      'const [seconds, rest] = process.hrtime(begun);',
      'expect(seconds + rest / 1e9).to.be.below(5);',
    ],
    'finds a difference of two variables': [
      'a.test.ts',
      'const begun = Date.now();',
      'await work();',
      'const end = Date.now();',
      'expect(end - begun).to.be.below(5);',
    ],
    'finds one of a list': [
      'a.test.ts',
      'took.push(performance.now() - begun);',
      'expect(Math.max(...took)).to.be.below(5);',
    ],
    'finds processor time': ['a.test.ts', 'const cost = await measureCpu(1, run);', 'expect(cost).to.be.below(5);'],
    'finds a rate': ['a.test.ts', 'expect(count / (performance.now() - begun)).to.be.above(5);'],
    'finds what a local function measured': [
      'a.test.ts',
      'async function time(work: () => Promise<void>): Promise<number> {',
      '  const begun = performance.now();',
      '  await work();',
      '  return performance.now() - begun;',
      '}',
      'expect(await time(run)).to.be.below(50);',
    ],
    'finds what a local arrow function measured': [
      'a.test.ts',
      "describe('a', () => {",
      '  const time = async (work: () => Promise<void>) => {',
      '    const begun = performance.now();',
      '    await work();',
      '    return performance.now() - begun;',
      '  };',
      '  const spent = await time(run);',
      '  expect(spent).to.be.below(50);',
      '});',
    ],
    'finds a difference of what a local function reads': [
      'a.test.ts',
      'const now = () => performance.now();',
      'const begun = now();',
      'expect(now() - begun).to.be.below(50);',
    ],
    'finds one in a helper of tests': ['pkg/lab.testing.ts', "if (Date.now() - begun > 50) throw new Error('slow');"],
    'finds one in what end-to-end tests share': ['e2e/lab/child.ts', 'if (Date.now() - begun > 50) throw new Error();'],
    'finds a limit in milliseconds in a test of the kernel': [
      'pkg/a.kernel.test.ts',
      'expect(took).to.be.below(LIMIT_MS);',
    ],
    'finds a limit in milliseconds in every test of real processes': [
      'e2e/cluster/a.test.ts',
      'expect(took < LIMIT_MS).to.equal(true);',
    ],
  });

  cases([], {
    'passes the growth of a cost': [
      'a.test.ts',
      'const small = await measureCpu(1, () => run(n));',
      'const large = await measureCpu(1, () => run(2 * n));',
      'const growth = large / small;',
      'expect(growth).to.be.below(3);',
      'expect(large / small).to.be.below(3);',
      "if (large / small > 3) throw new Error('not in proportion');",
    ],
    'passes a cost that is compared with another': [
      'a.test.ts',
      'const small = await measureCpu(1, () => run(n));',
      'const large = await measureCpu(1, () => run(2 * n));',
      'expect(large).to.be.below(3 * small);',
      'assert.ok(large < 3 * small);',
    ],
    'passes what is skipped because it is cheap': [
      'a.test.ts',
      'if ((await measureCpu(1, () => read(text))) < SUSPICIOUS_MS) continue;',
      'await assertLinearCost(work);',
    ],
    'passes waiting with until': [
      'a.etcd.test.ts',
      'const begun = performance.now();',
      'await until(() => performance.now() - begun > 1_500);',
      'expect(steps).to.be.above(1);',
    ],
    'passes a helper that gives up at its deadline': [
      'a.testing.ts',
      'const deadline = performance.now() + withinMs;',
      'while (!seen()) {',
      "  if (performance.now() > deadline) throw new Error('hangs');",
      '  await delay(5);',
      '}',
    ],
    'passes the order of two events': [
      'a.etcd.test.ts',
      'a.downAt ??= performance.now();',
      'b.upAt ??= performance.now();',
      'expect(a.downAt).to.be.lessThan(b.upAt!);',
    ],
    'passes a time that is only told': [
      'a.test.ts',
      'const outcome = `back after ${Date.now() - begun} ms`;',
      'expect(count, outcome).to.be.at.least(1);',
    ],
    'passes an earlier time that is no duration': [
      'a.test.ts',
      'const issued = Date.now() - 200 * DAY_MS;',
      'expect(validUntil).to.be.above(issued);',
    ],
    'passes a difference of a simulated clock': [
      'a.testing.ts',
      'const begun = clock.now();',
      'const took = clock.now() - begun;',
      'expect(took).to.be.below(50);',
      "if (took > 50) throw new Error('slow');",
    ],
    'passes a limit in milliseconds of a simulated cluster': [
      'e2e/simulation/a.test.ts',
      'expect(took).to.be.below(LIMIT_MS);',
    ],
  });
});

describe('check of the list of kinds', () =>
  table(
    sources => findUnlistedKinds(sources, ['gadget']),
    [
      {
        name: 'passes a descriptor that is in the list',
        files: { 'crds/gadget/kind.ts': 'export const gadgetKind = defineKind({' },
        found: [],
      },
      {
        name: 'finds a descriptor that is not in the list, and an entry of the list without one',
        files: { 'crds/widget/kind.ts': 'export const widgetKind = defineKind({' },
        found: [/^widget: has a descriptor/, /^gadget: is in/],
      },
      {
        name: 'finds columns that stand beside schemas',
        files: { 'crds/gadget/kind.ts': 'export const gadgetKind = defineKind({\n  columns: defineColumns<Gadget>([' },
        found: [/^crds\/gadget\/kind\.ts: columns stand in columns\.ts/],
      },
      ...[
        'export const widgetKind = defineKind<Widget>({',
        'export const widgetKind: Kind = defineKind({',
        'export const widgetKind =\n  defineKind({',
        'export const widget = defineKind({',
      ].map(text => ({
        name: `finds a descriptor that is written as ${JSON.stringify(text)}`,
        files: { 'crds/gadget/kind.ts': 'export const gadgetKind = defineKind({', 'crds/widget/kind.ts': text },
        found: [/^widget: has a descriptor/],
      })),
    ],
  ));
