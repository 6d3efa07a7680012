import { expect } from 'chai';

import { findKindLists } from './kind-lists.js';

const find = (path: string, ...lines: readonly string[]) =>
  findKindLists([{ path, text: `${lines.join('\n')}\n` }], {});

describe('check of lists of kinds', () => {
  const written: Readonly<Record<string, readonly string[]>> = {
    'an array': ["const shown = ['deployments', 'jobs'];"],
    'an array over several lines': ['const shown = new Set([', "  'deployment',", "  'job',", '  more,', ']);'],
    'an array of properties': ['if (![deployments.path, jobs.path].includes(path)) throw new Error();'],
    'a union': ["type Shown = 'jobs' | 'volumes' | 'other';"],
    'a table by plural': [
      'export const pages: Readonly<Record<string, Page>> = {',
      '  jobs: A,',
      '  volumes: B,',
      '};',
    ],
    'a table of addresses': ['const GO = {', "  d: '#/deployments',", "  n: '#/nodes',", "  o: '#/',", '};'],
    'a table of paths': ['const PATHS = {', "  a: '/api/v1/deployments',", "  b: '/api/v1/dvm/volumes',", '};'],
    'an object by kind': ['function list() {', "  return { Volume: 'a', Network: 'b' };", '}'],
    'a chain of comparisons': ["const isFixed = kind === 'Network' || kind === 'Volume';", '}'],
    'comparisons in one function': [
      'function toPlace(list: string) {',
      "  if (list === 'deployments') return 1;",
      "  if (list === 'nodes') return 2;",
      '}',
    ],
    'a switch': ['function draw() {', '  switch (page) {', "    case 'jobs':", "    case 'nodes':", '  }', '}'],
  };
  for (const [what, lines] of Object.entries(written)) {
    it(`finds ${what}`, () => {
      expect(find('pkg/cli/commands/a.ts', ...lines)).to.have.length(1);
      expect(find('dashboard/view/a.tsx', ...lines)[0]).to.match(
        /^dashboard\/view\/a\.tsx:\d+: lists kinds by hand \(/,
      );
    });
  }

  const passed: Readonly<Record<string, readonly string[]>> = {
    'one kind': ["const shown = ['deployments'];", "if (kind === 'Deployment') run();"],
    'two properties of one object': ['const pair = [node.id, node.name];'],
    'fields of a type and of a value': [
      'interface Lists {',
      '  volumes: A;',
      '  jobs: B;',
      '}',
      'const { volumes, jobs } = lists;',
    ],
    'names of fields among which some are those of kinds': ["const fields = ['name', 'image', 'secrets', 'networks'];"],
    'the kinds of tokens': ["const isPerson = kind === 'tenant' || kind === 'admin';"],
    'a comment': ["// ['deployments', 'jobs']", "/** `['deployments', 'jobs']` */"],
  };
  for (const [what, lines] of Object.entries(passed)) {
    it(`passes ${what}`, () => expect(find('pkg/cli/a.ts', ...lines)).to.deep.equal([]));
  }

  it('passes tests, and folders that have kinds of their own', () => {
    const line = "const shown = ['deployments', 'jobs'];";
    for (const path of ['pkg/cli/a.test.ts', 'api/routes/a.ts', 'controllers/a.ts']) {
      expect(find(path, line)).to.deep.equal([]);
    }
  });

  it('passes a file that is allowed to, and finds an allowance that nothing needs', () => {
    const text = "const shown = ['deployments', 'jobs'];\n";
    const check = (path: string) => findKindLists([{ path, text }], { 'pkg/cli/a.ts': 'why' });
    expect(check('pkg/cli/a.ts')).to.deep.equal([]);
    expect(check('pkg/cli/b.ts')).to.deep.equal([
      'pkg/cli/b.ts:1: lists kinds by hand (deployments, jobs): derive the list from crds/kinds',
      'hack/checks/kind-lists.ts: pkg/cli/a.ts is allowed to list kinds, and does not',
    ]);
  });
});
