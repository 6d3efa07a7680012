import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { openKeyring } from '../../auth/index.js';
import { bootstrapAdministrator } from '../../bootstrap/index.js';
import { sleep } from '../../clock/index.js';
import { exitCode, UsageFault, startDeadline, type Terminal } from '../../terminal/index.js';
import { readOperatorSettings, useStore } from '../operator-store.js';
import type { Command } from '../session.js';

interface FirstAdministratorInput {
  readonly settings: readonly string[];
  readonly another?: boolean;
  readonly wait?: boolean;
}

const LOOK_EVERY_MS = 100;
const KEYS_WITHIN_MS = 60_000;

/** Makes the first administrator of a control plane. Whoever may read its keys and write to its etcd needs no other right. */
export const firstAdministrator: Command<FirstAdministratorInput> = async (session, input) => {
  const { terminal, ink } = session;
  const { another = false, wait = false } = input;
  const settings = readOperatorSettings(session, input.settings);
  if (wait) await awaitKeyFile(terminal, settings.keyFile);
  // Made here, it would be another one than that of the servers, or one that they may not read.
  if (!existsSync(settings.keyFile))
    throw new UsageFault(
      `there is no key file ${resolve(settings.keyFile)}: start a server first, which makes it, or name that of the servers with --key-file.`,
    );
  const keyring = openKeyring(settings.keyFile, terminal.random);
  return useStore(session, settings, async store => {
    const { token, record } = await bootstrapAdministrator({ ...terminal, store, keyring, another });
    if (token === undefined) {
      terminal.err(
        `moor: there is an administrator already: token ${record.id} (${record.description}), valid until ${record.expiresAt}.\n` +
          '      If that token was lost: moor admin bootstrap --another, and revoke the old one afterwards.\n',
      );
      return exitCode.refused;
    }
    // Standard output holds the token and nothing else, so that it can be piped.
    terminal.out(`${token}\n`);
    terminal.err(
      `${ink.dim(`token ${record.id} of an administrator of the platform, valid until ${record.expiresAt}; it is shown once. Next:`)}\n` +
        '  moor login --server https://… --ca-file …\n' +
        '  moor tenants create acme\n' +
        '  moor --tenant <id> tokens create --role admin\n',
    );
    return exitCode.ok;
  });
};

/** Until a server that was just started has made its keys, at most a minute. */
async function awaitKeyFile(terminal: Terminal, keyFile: string): Promise<void> {
  if (existsSync(keyFile)) return;
  terminal.err(`moor: waiting for the key file ${resolve(keyFile)}, which a server makes when it starts.\n`);
  const deadline = startDeadline(terminal, { timeout: KEYS_WITHIN_MS });
  while (!existsSync(keyFile) && !deadline.signal.aborted) await sleep(terminal.clock, LOOK_EVERY_MS, deadline.signal);
  deadline.end();
}
