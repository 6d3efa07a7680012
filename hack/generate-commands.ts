import { createProcessTerminal, exitCodes } from '../pkg/terminal/index.js';
import { helpExamples } from '../pkg/cli/help-examples.js';
import { listCommands, listKindCommands } from '../pkg/cli/manual.js';
import { createProgram } from '../pkg/cli/program.js';

/** `docs/COMMANDS.md`: every command of `moor` with its options and examples, from the command line itself. */
export function renderCommandsReference(): string {
  const program = createProgram(createProcessTerminal(), () => undefined);
  const sections = listCommands(program).flatMap(({ path, command }) => [
    `## moor ${path}`,
    '',
    `${toSentence(command.description())}`,
    '',
    ...fence([`moor ${path} ${command.usage()}`.trimEnd()]),
    ...renderOptions(command),
    ...fence(helpExamples[path] ?? []),
  ]);
  const kindRows = listKindCommands().map(
    ({ names, commands }) => `| ${names.map(toCode).join(', ')} | ${commands.map(toCode).join(', ')} |`,
  );
  const codes = Object.values(exitCodes).map(([code, meaning]) => `| ${code} | ${toCell(meaning)} |`);
  return [
    '# Every command',
    '',
    'What `moor <command> --help` says, generated from the command line itself. What can be relied on, and `moor up`, `down` and the servers: [the command line](CLI.md).',
    '',
    '## Options of every command',
    '',
    ...renderOptions(program),
    ...sections,
    '## Kinds',
    '',
    'What `get`, `describe` and `delete` take as `<kind>`, by any of its names. [KINDS.md](KINDS.md) has all about each.',
    '',
    '| Kind | Commands |',
    '|---|---|',
    ...kindRows,
    '',
    '## Exit codes',
    '',
    '| Code | Meaning |',
    '|---|---|',
    ...codes,
    '',
  ].join('\n');
}

function renderOptions({ options }: ReturnType<typeof createProgram>): readonly string[] {
  if (options.length === 0) return [];
  const rows = options.map(({ flags, description, argChoices, defaultValue }) => {
    const choices = argChoices ? [`one of ${argChoices.map(choice => `\`${choice}\``).join(', ')}`] : [];
    const fallback = typeof defaultValue === 'string' ? [`default: \`${defaultValue}\``] : [];
    const more = [...choices, ...fallback].join('; ');
    return `| \`${toCell(flags)}\` | ${toCell(description)}${more === '' ? '' : ` (${toCell(more)})`} |`;
  });
  return ['| Option | Meaning |', '|---|---|', ...rows, ''];
}

function fence(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['```', ...lines, '```', ''];
}

function toSentence(text: string): string {
  return `${text.replace(/^./, first => first.toUpperCase()).replaceAll('<', '\\<')}.`;
}

function toCode(text: string): string {
  return `\`${text}\``;
}

function toCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
