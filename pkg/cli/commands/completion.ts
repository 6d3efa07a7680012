import type { Command as Commander } from 'commander';

import type { Kind } from '../../../crds/kind/index.js';
import { kinds as allKinds } from '../../../crds/kinds/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { getBehaviour } from '../kind-behaviours.js';
import { type CliKind, listDeletableKinds, listKinds } from '../kinds.js';
import type { Command } from '../session.js';

interface CompletionInput {
  readonly shell: string;
  readonly program: Commander;
}

/** Prints the completion script for a shell. It is made from the command line itself, so the two cannot differ. */
export const completion: Command<CompletionInput> = async ({ terminal, kinds }, { shell, program }) => {
  if (shell !== 'bash' && shell !== 'zsh') throw new UsageFault('completion is available for bash and zsh only.');
  terminal.out(`${shell === 'zsh' ? ZSH : ''}${renderCompletion(program, kinds)}`);
  return exitCode.ok;
};

/** zsh runs the same function through its own emulation. */
const ZSH = `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
autoload -Uz +X bashcompinit && bashcompinit
`;

/** Commands whose next word is the name of a context, which is no object of the server. */
const CONTEXTS = ['context use', 'context rename', 'context delete'];
/** Commands whose next word is a kind, and then a name. */
const KINDS = ['get', 'describe', 'delete'];
/** Programs that the script `moor` starts itself: they are asked for their options. */
const SERVERS = ['up', 'down', 'server', 'controllers', 'agent', 'fencer', 'bridge'];
/** Options whose value is a file. */
const FILES = ['-f', '--file', '--token-file', '--ca-file', '--values', '--config'];

interface Entry {
  readonly path: string;
  readonly command: Commander;
}

/** Every command that there is, by the words that lead to it: `nodes drain`. */
function listEntries(command: Commander, path = ''): readonly Entry[] {
  const inner = command.commands.flatMap(each => listEntries(each, `${path} ${each.name()}`.trim()));
  return [{ path, command }, ...inner];
}

/** What may follow a command whatever stands behind it: the commands below it and its options. */
function listWords({ path, command }: Entry): readonly string[] {
  const below = command.commands.map(each => each.name());
  const flags = command.options.flatMap(({ long }) => long ?? []);
  return [...below, ...(path === '' ? SERVERS : []), ...flags, '--help'];
}

/** Options that take one of a few values, with these. */
function listChoices(entries: readonly Entry[]): ReadonlyMap<string, string> {
  const options = entries.flatMap(({ command }) => command.options).filter(({ argChoices }) => argChoices);
  return new Map(
    options.map(({ short, long, argChoices }) => [[short, long].filter(Boolean).join('|'), argChoices!.join(' ')]),
  );
}

/** The completion script of a command line, for these kinds. */
export function renderCompletion(program: Commander, known: readonly Kind[] = allKinds): string {
  const entries = listEntries(program);
  const groups = entries.filter(({ command }) => command.commands.length > 0);
  const ofKinds = listKinds(known).flatMap(({ descriptor }) => {
    const { commands = [] } = getBehaviour(descriptor);
    return commands.length === 0 ? [] : [[descriptor.plural, commands] as const];
  });
  const named = [...ofKinds, ['contexts', CONTEXTS] as const].map(
    ([kind, paths]) => `${quoted(paths)}) names=${kind} ;;`,
  );
  const toWords = (listed: readonly CliKind[]) => listed.map(({ descriptor }) => descriptor.plural).join(' ');
  // No variable may be called "words": in zsh that is the command line itself.
  return `# Completion for moor.
_moor() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local entry="" at=1 choices="" names=""
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case "$entry" in
      ${quoted(groups.map(({ path }) => path))}) entry="\${entry:+$entry }\${COMP_WORDS[at]}"; at=$((at + 1)) ;;
      *) break ;;
    esac
  done
  case "$previous" in
${lines([...listChoices(entries)].map(([flags, values]) => `${flags}) COMPREPLY=($(compgen -W "${values}" -- "$current")); return ;;`))}
    --context) COMPREPLY=($(compgen -W "$(_moor_names contexts)" -- "$current")); return ;;
    ${FILES.join('|')}) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case "$entry" in
${lines(entries.map(each => `"${each.path}") choices="${listWords(each).join(' ')}" ;;`))}
    ${SERVERS.join('|')}) choices="$(_moor_options "$entry")" ;;
  esac
  if [ "\${current#-}" != "$current" ]; then
    :
  elif [ "$COMP_CWORD" -eq "$at" ]; then
    case "$entry" in
${lines(named, 6)}
      get) choices="${toWords(listKinds(known))} all" ;;
      describe) choices="${toWords(listKinds(known))}" ;;
      delete) choices="${toWords(listDeletableKinds(known))}" ;;
      explain) choices="deployment" ;;
      completion) choices="bash zsh" ;;
    esac
  elif [ "$COMP_CWORD" -eq 3 ]; then
    case "$entry" in
      ${KINDS.join('|')}) names="$previous" ;;
      explain) [ "$previous" = deployment ] && names=deployments ;;
    esac
  fi
  [ -n "$names" ] && choices="$(_moor_names "$names")"
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
}
_moor_names() {
  if [ "$1" = contexts ]; then set -- context list; else set -- get "$1"; fi
  "\${COMP_WORDS[0]}" "$@" -o name 2>/dev/null | sed 's|^[^/]*/||'
}
_moor_options() {
  "\${COMP_WORDS[0]}" "$1" --help 2>/dev/null | sed -n 's/^  *\\(-[a-zA-Z], \\)\\{0,1\\}\\(--[a-z-]*\\).*/\\2/p'
}
complete -F _moor moor
`;
}

function quoted(paths: readonly string[]): string {
  return paths.map(path => `"${path}"`).join('|');
}

function lines(cases: readonly string[], indent = 4): string {
  return cases.map(each => `${' '.repeat(indent)}${each}`).join('\n');
}
