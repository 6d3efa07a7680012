import { expect } from 'chai';

import { judgeImport } from './floors.js';

describe('import floors', () => {
  const cases: ReadonlyArray<{ name: string; path: string; imports: string; refused: boolean }> = [
    {
      name: 'lets a loop import the machinery',
      path: 'controllers/x/index.ts',
      imports: '../../pkg/store/index.js',
      refused: false,
    },
    { name: 'lets a folder import itself', path: 'pkg/store/a.ts', imports: './b.js', refused: false },
    { name: 'refuses an arrow up', path: 'pkg/store/a.ts', imports: '../../api/server.js', refused: true },
    { name: 'refuses an arrow sideways', path: 'api/server.ts', imports: '../controllers/list.js', refused: true },
    {
      name: 'refuses a loop that imports another loop',
      path: 'controllers/scheduler/reconcile.ts',
      imports: '../janitor/index.js',
      refused: true,
    },
    { name: 'keeps etcd3 at home', path: 'api/server.ts', imports: 'etcd3', refused: true },
    { name: 'knows etcd3 at home', path: 'pkg/store/etcd-store.ts', imports: 'etcd3', refused: false },
    {
      name: 'lets a test import the development machinery',
      path: 'pkg/store/a.etcd.test.ts',
      imports: '../../dev/processes/index.js',
      refused: false,
    },
    {
      name: 'lets a helper of tests import the development machinery',
      path: 'pkg/store/lab.testing.ts',
      imports: '../../dev/processes/index.js',
      refused: false,
    },
    {
      name: 'refuses development machinery in the product',
      path: 'api/main.ts',
      imports: '../dev/processes/index.js',
      refused: true,
    },
    {
      name: 'refuses any other arrow up from a test',
      path: 'pkg/store/a.test.ts',
      imports: '../../api/server.js',
      refused: true,
    },
    { name: 'refuses an arrow up inside api', path: 'api/http/a.ts', imports: '../routes/index.js', refused: true },
    {
      name: 'lets a test inside api call the whole API',
      path: 'api/http/a.test.ts',
      imports: '../api.js',
      refused: false,
    },
    {
      name: 'lets the list of kinds import a kind that is not named',
      path: 'crds/kinds/list.ts',
      imports: '../gadget/index.js',
      refused: false,
    },
    {
      name: 'refuses a kind that is not named in one that is',
      path: 'crds/volume/index.ts',
      imports: '../gadget/index.js',
      refused: true,
    },
    {
      name: 'refuses a kind that is not named in another such kind',
      path: 'crds/widget/index.ts',
      imports: '../gadget/index.js',
      refused: true,
    },
    {
      name: 'lets the supervisor of moor up start its parts',
      path: 'up/supervisor/supervise.ts',
      imports: '../parts/engine.js',
      refused: false,
    },
    {
      name: 'refuses a part of moor up that knows the supervisor',
      path: 'up/parts/engine.ts',
      imports: '../supervisor/supervisor.js',
      refused: true,
    },
    {
      name: 'refuses the home of moor up that knows the parts whose facts it holds',
      path: 'up/home/home.ts',
      imports: '../parts/part.js',
      refused: true,
    },
    {
      name: 'refuses a command of moor up in what it is made of',
      path: 'up/supervisor/supervise.ts',
      imports: '../down.js',
      refused: true,
    },
    {
      name: 'lets a test inside moor up call its commands',
      path: 'up/supervisor/supervisor.test.ts',
      imports: '../down.js',
      refused: false,
    },
    { name: 'refuses a folder that has no floor', path: 'lib/a.ts', imports: './b.js', refused: true },
  ];

  for (const { name, path, imports, refused } of cases) {
    it(name, () => {
      expect(judgeImport(path, imports) !== undefined).to.equal(refused);
    });
  }
});
