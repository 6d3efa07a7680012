import { availableParallelism } from 'node:os';

import { listSourceFiles } from '../checks/source-files.js';

/** Tests that are counted under one name. */
export interface Suite {
  readonly name: string;
  /** Whether a file of tests belongs to it. */
  readonly has: (path: string) => boolean;
  readonly timeoutMs?: number;
  /** A program without which the suite cannot run. */
  readonly needs?: string;
  /** Two tracks run beside each other, each one suite after the other: the first computes and then turns to etcd, the second waits for engines and browsers. */
  readonly track: 1 | 2;
  /** Each file is a process of its own, and several run side by side: they wait more than they work. */
  readonly sideBySide?: true;
  /** Each file is bundled with what it loads, some 500 files: not where a test finds files by where it stands itself. */
  readonly bundled?: true;
  /** How many of its files run side by side for each core, where they wait for most of their time. Default: one. */
  readonly lanesPerCore?: number;
  /** Among how many processes the files are divided, which run side by side: loading the product costs each some time. */
  readonly processes?: number;
  /** Files that take longest and are begun first, so that no core waits for them at the end. */
  readonly first?: readonly string[];
}

export const suites: readonly Suite[] = [
  {
    name: 'unit',
    track: 1,
    has: path => !/\.(?:etcd|docker|kernel)\.test\.ts$|^e2e\/(?!(?:lab|history|agreement)\/)/.test(path),
    processes: availableParallelism(),
  },
  {
    name: 'simulation',
    track: 1,
    has: path => path.startsWith('e2e/simulation/'),
    timeoutMs: 600_000,
    processes: availableParallelism(),
  },
  {
    name: 'etcd',
    track: 1,
    has: path => path.endsWith('.etcd.test.ts'),
    timeoutMs: 120_000,
    needs: 'etcd',
    sideBySide: true,
    bundled: true,
    first: ['up/up.etcd.test.ts'],
  },
  {
    name: 'cluster',
    track: 1,
    has: path => path.startsWith('e2e/cluster/'),
    timeoutMs: 180_000,
    needs: 'etcd',
    sideBySide: true,
    bundled: true,
    first: ['e2e/cluster/member-faults.test.ts', 'e2e/cluster/data-faults.test.ts'],
  },
  {
    name: 'security',
    track: 1,
    has: path => path.startsWith('e2e/security/'),
    timeoutMs: 180_000,
    needs: 'etcd',
    sideBySide: true,
    bundled: true,
  },
  {
    name: 'engine',
    track: 2,
    has: path => path.endsWith('.docker.test.ts'),
    timeoutMs: 300_000,
    needs: 'dockerd',
    sideBySide: true,
    bundled: true,
  },
  {
    name: 'kernel',
    track: 2,
    has: path => path.endsWith('.kernel.test.ts'),
    timeoutMs: 120_000,
    sideBySide: true,
  },
  {
    name: 'dashboard',
    track: 2,
    has: path => path.startsWith('e2e/dashboard/'),
    timeoutMs: 300_000,
    needs: 'chromium',
    sideBySide: true,
    bundled: true,
  },
  {
    name: 'e2e',
    track: 2,
    has: path => path.startsWith('e2e/stories/'),
    timeoutMs: 300_000,
    needs: 'dockerd',
    sideBySide: true,
    bundled: true,
    lanesPerCore: 1.5,
    first: [
      'schedules',
      'restarts',
      'rollout-canaries',
      'jobs',
      'rollouts',
      'rotation-crashes',
      'volume-copies',
      'volume-database',
      'logs',
      'scaling',
      'networks',
      'secrets-away',
      'node-life',
    ].map(name => `e2e/stories/${name}.test.ts`),
  },
];

/** How many parts of a suite run at a time. */
export function countLanes({ lanesPerCore = 1 }: Suite, cores = availableParallelism()): number {
  return Math.ceil(lanesPerCore * cores);
}

/** The files that one process runs. */
export type Part = readonly string[];

/** All files of a suite, each in one part. Parts may run at the same time. */
export function planParts(suite: Suite, files = listSourceFiles()): readonly Part[] {
  const { first = [], processes = 1 } = suite;
  const own = files.filter(path => path.endsWith('.test.ts') && suite.has(path));
  const unknown = first.filter(path => !own.includes(path));
  if (own.length === 0 || unknown.length > 0)
    throw new Error(`suite ${suite.name} has no ${unknown.join() || 'files'}`);
  const ordered = [...first, ...own.filter(path => !first.includes(path))];
  if (suite.sideBySide) return ordered.map(path => [path]);
  const parts = Array.from({ length: processes }, (_, part) => ordered.filter((_path, at) => at % processes === part));
  return parts.filter(part => part.length > 0);
}
