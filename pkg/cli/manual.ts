import type { Command as Commander } from 'commander';

import type { Kind } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import { exitCodes } from '../terminal/index.js';
import { helpExamples } from './help-examples.js';
import { listKinds } from './kinds.js';

/** A command that can be typed, with the words that lead to it: `volumes create`. */
export interface ListedCommand {
  readonly path: string;
  readonly command: Commander;
}

/** Every command that does something, in the order of `--help`. A group does when it has arguments or options of its own. */
export function listCommands(parent: Commander, words: readonly string[] = []): readonly ListedCommand[] {
  return parent.commands.flatMap(command => {
    const path = [...words, command.name()];
    const isGroup = command.commands.length > 0 && command.options.length === 0;
    return [...(isGroup ? [] : [{ path: path.join(' '), command }]), ...listCommands(command, path)];
  });
}

/** A kind as "moor get", "moor describe" and "moor delete" take it. */
export interface ListedKind {
  readonly names: readonly string[];
  readonly description: string;
  readonly commands: readonly string[];
}

/** Every kind that can be listed, with its names and the commands that take it. */
export function listKindCommands(known: readonly Kind[] = kinds): readonly ListedKind[] {
  return listKinds(known).map(({ names, descriptor: { description, operations } }) => ({
    names,
    description,
    commands: ['get', 'describe', ...(operations.includes('delete') ? ['delete'] : [])],
  }));
}

/** The manual page of the command line, in the language of man(7). */
export function renderManual(program: Commander, version: string, known: readonly Kind[] = kinds): string {
  const commands = listCommands(program).flatMap(renderCommand);
  return [
    `.TH MOOR 1 "" "Mooring ${escape(version)}" "User Commands"`,
    '.SH NAME',
    `moor \\- ${escape(program.description())}`,
    '.SH SYNOPSIS',
    '.B moor\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]',
    '.SH DESCRIPTION',
    ...DESCRIPTION.map(escape),
    '.SH OPTIONS',
    ...renderOptions(program),
    '.SH COMMANDS',
    ...commands,
    '.SH KINDS',
    ...listKindCommands(known).flatMap(({ names, description, commands: taking }) => [
      '.TP',
      `.B ${escape(names.join(', '))}`,
      escape(`${description} Commands: ${taking.join(', ')}.`),
    ]),
    '.SH SERVERS',
    'The following have a \\fB\\-\\-help\\fR of their own.',
    ...SERVERS.flatMap(([name, about]) => ['.TP', `.B moor ${name}`, escape(about)]),
    '.SH EXIT STATUS',
    ...Object.values(exitCodes).flatMap(([code, meaning]) => ['.TP', `.B ${code}`, escape(meaning)]),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, about]) => ['.TP', `.B ${name}`, escape(about)]),
    '.SH FILES',
    ...FILES.flatMap(([name, about]) => ['.TP', `.I ${escape(name)}`, escape(about)]),
    '',
  ].join('\n');
}

function renderCommand({ path, command }: ListedCommand): readonly string[] {
  const examples = (helpExamples[path] ?? []).map(escape);
  return [
    `.SS moor ${escape(`${path} ${command.usage()}`)}`,
    escape(command.description()),
    ...renderOptions(command),
    ...(examples.length > 0 ? ['.PP', 'Examples:', '.PP', '.nf', ...examples.map(line => `    ${line}`), '.fi'] : []),
  ];
}

function renderOptions(command: Commander): readonly string[] {
  return command.options.flatMap(({ flags, description, argChoices, defaultValue }) => {
    const more = [
      argChoices && `one of ${argChoices.join(', ')}`,
      typeof defaultValue === 'string' && `default: ${defaultValue}`,
    ].filter(Boolean);
    const about = `${description}${more.length > 0 ? ` (${more.join('; ')})` : ''}`.trim();
    return ['.TP', `.B ${escape(flags)}`, escape(about)];
  });
}

/** A text as roff takes it for itself. */
function escape(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('’', "'")
    .replaceAll('…', '...')
    .replace(/^(?=[.'])/, '\\&');
}

const DESCRIPTION = [
  'Declares deployments, jobs, networks and volumes to a Mooring API server, and shows how they run. What was asked for goes to standard output, everything else to standard error. Options of moor itself may stand before or behind the command.',
];

const SERVERS: readonly (readonly [string, string])[] = [
  ['up', 'starts everything on this machine, for development'],
  ['down', 'stops what up started'],
  ['server', 'the API server'],
  ['controllers', 'the reconcile loops'],
  ['agent', 'the agent of one node'],
  ['fencer', 'kills what writes to volumes when the agent of one node is silent'],
  ['bridge', 'objects of a Kubernetes cluster, mirrored into a tenant'],
];

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['MOORING_SERVER', 'address of the API server'],
  [
    'MOORING_TOKEN, MOORING_TOKEN_FILE',
    'the token for the server that MOORING_SERVER or --server names, or the file that holds it',
  ],
  ['MOORING_CA_FILE', 'certificate authority of the server'],
  ['MOORING_CONTEXT', 'context of moor login to use instead of the current one'],
  ['MOORING_HOME', 'where moor up keeps everything'],
  ['NO_COLOR', 'no colours, also on a terminal'],
];

const FILES: readonly (readonly [string, string])[] = [
  ['~/.config/mooring/config.yaml', 'contexts of moor login, with their tokens; mode 0600'],
  ['~/.local/state/mooring/', 'what moor up of an installed package keeps; in a clone it is .mooring/'],
];
