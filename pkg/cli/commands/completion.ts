import type { Command as Commander } from 'commander';

import { exitCode } from '../exit-code.js';
import { UsageFault } from '../faults.js';
import { kinds } from '../kinds.js';
import type { Command } from '../session.js';

interface CompletionInput {
  readonly shell: string;
  readonly program: Commander;
}

/** Prints the completion script for a shell. It is made from the command line itself, so the two cannot differ. */
export const completion: Command<CompletionInput> = async ({ terminal }, { shell, program }) => {
  if (shell !== 'bash' && shell !== 'zsh') throw new UsageFault('completion is made for bash and zsh.');
  const body = script(wordsOf(program));
  // zsh runs the same function through its own emulation.
  terminal.out(
    shell === 'zsh'
      ? `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${body}`
      : body,
  );
  return exitCode.ok;
};

/** Commands whose next word is the name of a deployment. */
const namesDeployment = ['status', 'logs', 'scale', 'rotate'];
/** Commands whose next word is a kind, and then a name. */
const namesKind = ['get', 'describe', 'delete'];
/** Programs that the script `moor` starts itself. */
const servers = ['up', 'down', 'server', 'controllers', 'agent'];

/** What may follow each command. The empty command is `moor` itself. */
function wordsOf(program: Commander): ReadonlyMap<string, readonly string[]> {
  const flags = (command: Commander) => command.options.flatMap(({ long }) => (long ? [long] : []));
  const words = new Map<string, readonly string[]>();
  words.set('', [...program.commands.map(command => command.name()), ...servers, ...flags(program)]);
  for (const command of program.commands) {
    words.set(command.name(), [...command.commands.map(inner => inner.name()), ...flags(command)]);
  }
  words.set('completion', ['bash', 'zsh']);
  return words;
}

function script(words: ReadonlyMap<string, readonly string[]>): string {
  const cases = [...words]
    .map(([name, next]) => `    ${name === '' ? '""' : name}) words="${next.join(' ')}" ;;`)
    .join('\n');
  return `# Completion for moor.
_moor() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" words=""
  [ "$COMP_CWORD" -gt 1 ] && command="\${COMP_WORDS[1]}"
  case "$command" in
${cases}
  esac
  case "$command" in
    ${namesDeployment.join('|')}) [ "$COMP_CWORD" -eq 2 ] && words="$words $(_moor_names deployments)" ;;
    ${namesKind.join('|')})
      [ "$COMP_CWORD" -eq 2 ] && words="${kinds.map(({ names }) => names[1]).join(' ')}"
      [ "$COMP_CWORD" -eq 3 ] && words="$words $(_moor_names "\${COMP_WORDS[2]}")" ;;
    apply) compopt -o default 2>/dev/null ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
_moor_names() {
  "\${COMP_WORDS[0]}" get "$1" -o name 2>/dev/null | sed 's|.*/||'
}
complete -F _moor moor
`;
}
