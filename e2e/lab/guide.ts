import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { parse } from 'yaml';

import type { Settings } from '../../pkg/config/index.js';
import { type CommandBlock, readCommandBlocks, replaceWords } from './page-commands.js';
import { PageShell, type PageShellOptions } from './page-shell.js';

/** The tutorial first: it is what everybody begins with. */
export const guides: readonly string[] = ['tutorial.md', ...readdirSync('docs/how-to').map(name => `how-to/${name}`)];

/** The pages that a story of its own runs, `guides-….deep.test.ts`, because something has to happen around their commands. */
export const guidesWithStories: readonly string[] = guides.filter(file =>
  readdirSync('e2e/stories')
    .filter(name => /^guides-.+\.test\.ts$/.test(name))
    .some(name => readFileSync(join('e2e/stories', name), 'utf8').includes(`'${file}'`)),
);

/** The blocks of commands of a page. */
export function readGuide(file: string): readonly CommandBlock[] {
  return readCommandBlocks(readFileSync(join('docs', file), 'utf8'));
}

const SETTINGS = /^```yaml\n(.*?)^```$/gms;

/** The settings of servers and controllers that a page tells its reader to make. */
export function readGuideSettings(file: string): Partial<Settings> {
  const written = readFileSync(join('docs', file), 'utf8').matchAll(SETTINGS);
  return Object.assign({}, ...Array.from(written, ([, text = '']) => parse(text) as Partial<Settings>));
}

/** A block as a direction gets it: with what is run, and the way to run it. */
export interface StagedBlock {
  readonly commands: string;
  readonly run: () => Promise<void>;
  readonly shell: PageShell;
}

/** What makes the commands of a page run here, and what happens around them that no command does: a machine is lost. */
export interface Directions {
  /** What stands here for what the page says, replaced in this order: addresses, folders. */
  readonly replacements?: Readonly<Record<string, string>>;
  /** By words of the one block that each is for: it runs the block, with what happens before and after. */
  readonly around?: Readonly<Record<string, (block: StagedBlock) => Promise<void>>>;
}

/** A folder in which `moor` is on the PATH, as it is where pages are read. */
export function openGuideFolder(): PageShellOptions {
  const cwd = mkdtempSync(join(tmpdir(), 'mooring-guides-'));
  mkdirSync(join(cwd, 'bin'));
  symlinkSync(resolve('moor'), join(cwd, 'bin/moor'));
  return { cwd, env: { ...process.env, HOME: cwd, NO_COLOR: '1', PATH: `${cwd}/bin:${process.env['PATH']}` } };
}

/** Runs the blocks of a page that are marked so, in order, in one shell and a folder of its own; answers what they printed. */
export async function runGuide(
  file: string,
  { cwd, env }: PageShellOptions,
  { replacements = {}, around = {} }: Directions = {},
): Promise<string> {
  const blocks = readGuide(file).filter(({ skipped }) => skipped === undefined);
  for (const words of Object.keys(around)) {
    const found = blocks.filter(({ commands }) => commands.includes(words)).length;
    if (found !== 1) throw new Error(`${found} blocks of ${file} that are run have the words of a direction: ${words}`);
  }
  const shell = new PageShell({ cwd: mkdtempSync(join(cwd, 'page-')), env });
  try {
    for (const { commands: written } of blocks) {
      const commands = replaceWords(written, replacements);
      const run = () => shell.run(commands);
      const [, direct] = Object.entries(around).find(([words]) => written.includes(words)) ?? [];
      await (direct ? direct({ commands, run, shell }) : run());
    }
    return shell.printed;
  } finally {
    await shell.end();
  }
}
