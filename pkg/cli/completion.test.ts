import { spawnSync } from 'node:child_process';

import { expect } from 'chai';

import { skip } from '../../dev/testing/index.js';
import { createTestTerminal } from '../terminal/terminal.testing.js';
import { run } from './run.js';

/** What a shell asks of the command while it completes. */
const STUB = `moor() {
  case "$*" in
    "get deployments -o name") printf 'deployment/web\\ndeployment/shop\\n' ;;
    "context list -o name") echo context/shop ;;
    "get nodes -o name") echo node/attic ;;
    "get secrets -o name") echo secret/deployments/web-db ;;
    "get volumes -o name") echo volume/data ;;
    "up --help") printf '  --nodes <count>   agents\\n  -h, --help\\n' ;;
  esac
}
`;

async function scriptFor(shell: string): Promise<string> {
  const terminal = createTestTerminal({});
  expect(await run(['completion', shell], terminal)).to.equal(0);
  return terminal.printed.out;
}

const cases: readonly { readonly typed: readonly string[]; readonly offered: readonly string[] }[] = [
  { typed: ['get', 'dep'], offered: ['deployments'] },
  { typed: ['get', 'al'], offered: ['all'] },
  { typed: ['describe', 'al'], offered: [''] },
  { typed: ['get', 'deployments', ''], offered: ['web', 'shop'] },
  { typed: ['get', 'deployments', '--o'], offered: ['--output'] },
  { typed: ['get', 'nodes', '-o', ''], offered: ['table', 'wide', 'json', 'yaml', 'name'] },
  { typed: ['status', 'w'], offered: ['web'] },
  { typed: ['status', 'web', '--unt'], offered: ['--until-ready'] },
  { typed: ['logs', 'web', '--fo'], offered: ['--follow'] },
  { typed: ['canary', ''], offered: ['promote', 'abort', '--help'] },
  { typed: ['canary', 'promote', 'w'], offered: ['web'] },
  { typed: ['rollout', 'undo', 's'], offered: ['shop'] },
  { typed: ['nodes', 'dr'], offered: ['drain'] },
  { typed: ['nodes', 'drain', 'at'], offered: ['attic'] },
  { typed: ['nodes', 'drain', 'attic', '--w'], offered: ['--wait'] },
  { typed: ['secrets', 'write', ''], offered: ['deployments/web-db'] },
  { typed: ['secrets', 'generate', 'deployments/web-db', '--by'], offered: ['--bytes'] },
  { typed: ['tokens', 'create', '--role', 'dep'], offered: ['deployer'] },
  { typed: ['volumes', 'replicas', ''], offered: ['add', 'remove', '--help'] },
  { typed: ['volumes', 'replicas', 'add', 'd'], offered: ['data'] },
  { typed: ['volumes', 'move', 'd'], offered: ['data'] },
  { typed: ['admin', 'certs', 'li'], offered: ['list'] },
  { typed: ['admin', 'certs', 'renew', '--fo'], offered: ['--folder'] },
  { typed: ['explain', 'dep'], offered: ['deployment'] },
  { typed: ['explain', 'deployment', 's'], offered: ['shop'] },
  { typed: ['up', '--n'], offered: ['--nodes'] },
  { typed: ['contr'], offered: ['controllers'] },
  { typed: ['apply', '-f', 'LICEN'], offered: ['LICENSE'] },
  { typed: ['context', 'use', 's'], offered: ['shop'] },
  { typed: ['--context', ''], offered: ['shop'] },
  { typed: ['completion', ''], offered: ['bash', 'zsh'] },
];

describe('completion', function () {
  for (const { typed, offered } of cases) {
    it(`bash: moor ${typed.join(' ')}<TAB>`, async () => {
      const words = ['moor', ...typed].map(word => `'${word}'`).join(' ');
      const asked = `COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _moor; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['-c', `${STUB}${await scriptFor('bash')}${asked}`], {
        encoding: 'utf8',
      });

      expect([stdout.trim().split('\n'), stderr]).to.deep.equal([offered, '']);
    });
  }

  it('zsh: completes a kind, a name and an option', async function () {
    if (spawnSync('zsh', ['--version']).status !== 0) {
      skip(this, 'zsh is not installed (apt-get install zsh)');
    }
    for (const [typed, completed] of [
      ['moor get deplo', 'moor get deployments '],
      ['moor status w', 'moor status web '],
      ['moor explain deployment sh', 'moor explain deployment shop '],
      ['moor get nodes -o js', 'moor get nodes -o json '],
      ['moor volumes replicas add da', 'moor volumes replicas add data '],
      ['moor up --no', 'moor up --nodes '],
    ] as const) {
      expect(completedInZsh(`${STUB}${await scriptFor('zsh')}`, typed)).to.equal(completed);
    }
  });
});

/** What stands on the line of an interactive zsh after a tab. */
function completedInZsh(setting: string, typed: string): string {
  const inner = `${setting}
PS1=; unsetopt zle_bracketed_paste 2>/dev/null
tell() { zle -I; print -r -- "<<$BUFFER>>"; exit }
zle -N tell; bindkey '^T' tell; bindkey '^I' complete-word
print READY`;
  const script = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "$INNER"
zpty -r shell seen '*READY*READY*'
zpty -n -w shell "$TYPED"$'\\t'$'\\C-t'
zpty -r shell seen '*<<*>>*'
print -r -- "\${\${seen##*<<}%%>>*}"`;
  const { stdout } = spawnSync('zsh', ['-f', '-c', script], {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, INNER: inner, TYPED: typed, TERM: 'dumb' },
  });
  return stdout.replace(/\n$/, '');
}
