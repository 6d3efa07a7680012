import { createHash } from 'node:crypto';

import { parseShare, type Share, type Tier } from '../../dev/testing/index.js';
import { listSourceFiles } from '../checks/source-files.js';

/** Tests that are counted under one name. */
export interface Suite {
  readonly name: string;
  /** Whether a file of tests belongs to it. */
  readonly has: (path: string) => boolean;
  /** A program without which the suite cannot run. */
  readonly needs?: string;
  /** Its files run in every share of the deep tier and divide their own cases: a part of the worlds each. */
  readonly isDivided?: boolean;
  /** Files that take longest and are begun first, so that no core waits for them at the end. */
  readonly first?: readonly string[];
}

const stories = (...names: readonly string[]) => names.map(name => `e2e/stories/${name}.test.ts`);

/** In the order in which they are begun: what waits for programs before what computes, so that the cores have work while it waits. */
export const suites: readonly Suite[] = [
  {
    name: 'stories',
    has: path => path.startsWith('e2e/stories/'),
    needs: 'dockerd',
    first: stories(
      'volume-database.deep',
      'volume-writers-btrfs.deep',
      'volume-writers-directory.deep',
      'rotation-crashes.deep',
      'schedules.deep',
      'rollout-canaries.deep',
      'restarts.deep',
      'networks',
    ),
  },
  { name: 'dashboard', has: path => path.startsWith('e2e/dashboard/'), needs: 'chromium' },
  { name: 'kernel', has: path => /\.kernel\.(?:deep\.)?test\.ts$/.test(path) },
  { name: 'engine', has: path => /\.docker\.(?:deep\.)?test\.ts$/.test(path), needs: 'dockerd' },
  { name: 'simulation', has: path => path.startsWith('e2e/simulation/'), isDivided: true },
  { name: 'cluster', has: path => path.startsWith('e2e/cluster/'), needs: 'etcd' },
  { name: 'security', has: path => path.startsWith('e2e/security/'), needs: 'etcd' },
  { name: 'etcd', has: path => /\.etcd\.(?:deep\.)?test\.ts$/.test(path), needs: 'etcd' },
  {
    name: 'unit',
    has: path => !/\.(?:etcd|docker|kernel)\.(?:deep\.)?test\.ts$|^e2e\/(?!(?:lab|history|agreement)\/)/.test(path),
  },
];

/** Into how many shares the deep tier is divided where there is no time for all of it: each takes about as long as `make test`. */
export const SHARES = 2;
const EVERYTHING: Share = { at: 0, of: 1 };

/** What SHARE says: `2/3`, or `commit` for the one that the hash of the commit draws. */
export function chooseShare(text: string, readCommit: () => string): Share {
  if (text === '') return EVERYTHING;
  const share = text === 'commit' ? { at: drawNumber(readCommit(), SHARES), of: SHARES } : parseShare(text);
  if (!share) throw new Error(`SHARE=${text} is no share: write 1/${SHARES}, or commit`);
  return share;
}

/** A text that a file has in which a table is long: `make test` runs some of its cases, `make test-deep` runs all. */
const SAMPLED = /\b(?:itDeep|sampleCases|sampleRuns)\(/;

/** What a file says by its name, or by sampling its cases. */
function isIn(tier: Tier, path: string, text: string): boolean {
  const isDeep = path.endsWith('.deep.test.ts');
  return tier === 'quick' ? !isDeep : isDeep || SAMPLED.test(text);
}

/** A number below `of` that is always the same for a text: a file stays in its share, whatever comes beside it. */
function drawNumber(text: string, of: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE() % of;
}

/** The files of a suite in the order in which they are begun. */
export function planFiles(
  { name, has, first = [], isDivided = false }: Suite,
  { tier, share = EVERYTHING, files = listSourceFiles(['*.test.ts']), read }: PlanOptions,
): readonly string[] {
  const own = files.filter(has);
  const unknown = first.filter(path => !own.includes(path));
  if (unknown.length > 0) throw new Error(`suite ${name} has no ${unknown.join()}`);
  const ordered = [...first, ...own.filter(path => !first.includes(path))].filter(path => isIn(tier, path, read(path)));
  return isDivided ? ordered : ordered.filter(path => drawNumber(path, share.of) === share.at);
}

export interface PlanOptions {
  readonly tier: Tier;
  readonly share?: Share;
  readonly files?: readonly string[];
  readonly read: (path: string) => string;
}
