import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import type { Command } from 'commander';

import { clone } from '../version/index.js';
import { createTestTerminal } from '../terminal/terminal.testing.js';
import { helpExamples } from './help-examples.js';
import { findKind } from './kinds.js';
import { listCommands, renderManual } from './manual.js';
import { createProgram } from './program.js';
import { run } from './run.js';

const SERVERS = ['up', 'down', 'server', 'controllers', 'agent', 'fencer', 'bridge'];

/** The program, whose commands do nothing but say that they were reached. */
function createIdleProgram(reached: string[]): Command {
  const program = createProgram(createTestTerminal({}), () => undefined);
  for (const { path, command } of listCommands(program)) command.action(() => void reached.push(path));
  return program;
}

/** The words that a shell hands to moor: of a line with pipes and redirections, those of moor. */
function splitWords(line: string): readonly string[] {
  const [, rest = ''] = /(?:^|[|(] ?)moor\b([^|<>)]*)/.exec(line) ?? [];
  return rest.split(' ').filter(Boolean);
}

describe('help', () => {
  const all = listCommands(createIdleProgram([]));

  it('has examples of every command, and of nothing else', () => {
    expect(Object.keys(helpExamples).sort()).to.deep.equal(all.map(({ path }) => path).sort());
  });

  it('has examples that parse, and that are of the command', async () => {
    for (const [path, examples] of Object.entries(helpExamples))
      for (const example of examples) {
        const reached: string[] = [];
        await createIdleProgram(reached).parseAsync(splitWords(example), { from: 'user' });
        expect(reached, example).to.deep.equal([path]);
      }
  });

  it('shows examples', async () => {
    const terminal = createTestTerminal({});
    expect(await run(['volumes', 'grow', '--help'], terminal)).to.equal(0);
    expect(terminal.printed.out).to.contain('Examples:\n  moor volumes grow data --size 20Gi\n');
  });

  it('proposes the command that was meant', async () => {
    const terminal = createTestTerminal({});
    expect(await run(['aply'], terminal)).to.equal(2);
    expect(terminal.printed.err).to.contain('Did you mean apply?');
  });

  it('proposes the kind that was meant, and none for a word of another kind', () => {
    expect(() => findKind('deploymnets')).to.throw('Did you mean deployments?');
    expect(() => findKind('zzzzzzzz')).to.throw(/The kinds are (?!.*Did you mean)/);
  });
});

describe('docs/CLI.md', () => {
  /** `moor rollout pause|resume <name>` is two lines to type. */
  const expand = (words: readonly string[]): readonly (readonly string[])[] =>
    words.reduce<readonly (readonly string[])[]>(
      (lines, word) => lines.flatMap(line => word.split('\\|').map(each => [...line, each])),
      [[]],
    );
  const page = readFileSync(join(clone, 'docs', 'CLI.md'), 'utf8');
  const titles = [...page.matchAll(/^\| (`.*?`) \| /gm)].map(([, title]) =>
    title!.replaceAll(/\\?\| moor/g, '`, `moor'),
  );
  const typed = titles
    .flatMap(title => [...title.matchAll(/`moor ([^`]+)`/g)].map(([, line]) => line!))
    .filter(line => !SERVERS.includes(line.split(' ')[0]!));

  it('tells of every command, and only of commands and options that exist', () => {
    const program = createIdleProgram([]);
    const told = new Set<string>();
    for (const line of typed) {
      const flags = [...line.matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag);
      for (const words of expand(
        line
          .replaceAll(/[[\]…]/g, ' ')
          .split(' ')
          .filter(Boolean),
      )) {
        const path: string[] = [];
        let command = program;
        for (const word of words) {
          const next = command.commands.find(each => each.name() === word || each.aliases().includes(word));
          if (!next) break;
          path.push(next.name());
          command = next;
        }
        expect(path, line).not.to.deep.equal([]);
        told.add(path.join(' '));
        const known = [program, command].flatMap(({ options }) => options.map(({ long }) => long));
        expect(known, line).to.include.members(flags);
      }
    }
    const missing = listCommands(program).filter(({ path }) => !told.has(path));
    expect(missing.map(({ path }) => path)).to.deep.equal([]);
  });
});

describe('moor man', () => {
  it('prints every command with its options and examples, and nothing that roff takes for its own', () => {
    const program = createIdleProgram([]);
    const page = renderManual(program, '1.2.3');
    for (const { path } of listCommands(program)) expect(page).to.contain(`.SS moor ${path.replaceAll('-', '\\-')} `);
    expect(page).to.contain('.B \\-\\-class <class>').and.to.contain('    moor volumes grow data \\-\\-size 20Gi');
    expect(page.split('\n').filter(line => /^[.'](?!(?:TH|SH|SS|TP|PP|B|I|nf|fi)\b)/.test(line))).to.deep.equal([]);
    expect(page.replaceAll(/\\(?:-|e|&|f[BIR])/g, '')).not.to.contain('\\');
  });
});
