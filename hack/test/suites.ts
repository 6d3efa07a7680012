import { sourceFiles } from '../checks/source-files.js';

/** Tests that are counted under one name. */
export interface Suite {
  readonly name: string;
  /** Whether a file of tests belongs to it. */
  readonly has: (path: string) => boolean;
  readonly timeoutMs?: number;
  /** A program without which the suite cannot run. */
  readonly needs?: string;
  /** Each file is a process of its own, and several run side by side: they wait more than they work. */
  readonly sideBySide?: true;
  /** Files that take longest and are begun first, so that no core waits for them at the end. */
  readonly first?: readonly string[];
  /** Files that measure time: each runs while nothing else does, in a process that has no garbage of others. */
  readonly alone?: readonly string[];
}

export const suites: readonly Suite[] = [
  {
    name: 'unit',
    has: path => !/\.(?:etcd|docker)\.test\.ts$|^e2e\/(?!lab\/)/.test(path),
  },
  {
    name: 'etcd',
    has: path => path.endsWith('.etcd.test.ts'),
    timeoutMs: 120_000,
    needs: 'etcd',
    sideBySide: true,
    first: ['up/up.etcd.test.ts'],
    alone: ['controllers/resolver-pace.etcd.test.ts', 'pkg/secrets/embedded/embedded-secret-store.etcd.test.ts'],
  },
  {
    name: 'engine',
    has: path => path.endsWith('.docker.test.ts'),
    timeoutMs: 300_000,
    needs: 'dockerd',
    sideBySide: true,
  },
  { name: 'simulation', has: path => path.startsWith('e2e/simulation/'), timeoutMs: 300_000 },
  {
    name: 'e2e',
    has: path => path.startsWith('e2e/stories/'),
    timeoutMs: 300_000,
    needs: 'dockerd',
    sideBySide: true,
    first: ['e2e/stories/rotation-crashes.test.ts'],
    alone: ['e2e/stories/residency.test.ts', 'e2e/stories/speed.test.ts'],
  },
];

/** What of a suite may run at the same time, and what runs after it, one after the other. */
export interface Plan {
  readonly together: readonly Part[];
  readonly alone: readonly Part[];
}

/** The files that one process runs. */
export type Part = readonly string[];

/** All files of a suite, each in one part. */
export function planOf(suite: Suite, files = sourceFiles()): Plan {
  const { first = [], alone = [] } = suite;
  const own = files.filter(path => path.endsWith('.test.ts') && suite.has(path));
  const unknown = [...first, ...alone].filter(path => !own.includes(path));
  if (own.length === 0 || unknown.length > 0)
    throw new Error(`suite ${suite.name} has no ${unknown.join() || 'files'}`);
  const rest = own.filter(path => !first.includes(path) && !alone.includes(path));
  const together = suite.sideBySide ? [...first, ...rest].map(path => [path]) : [[...first, ...rest]];
  return { together, alone: alone.map(path => [path]) };
}
