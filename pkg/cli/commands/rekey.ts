import { existsSync } from 'node:fs';

import { formatCount } from '../../../crds/grammar/index.js';
import { findSecretsKeyringFile, loadSecretKeyring, type RekeyResult, rekeySecrets } from '../../secrets/index.js';
import { type ExitCode, exitCode, UsageFault } from '../../terminal/index.js';
import { readOperatorSettings, useStore } from '../operator-store.js';
import type { Command, Session } from '../session.js';

interface RekeyInput {
  /** `--<setting> <value>`, as the servers take them. */
  readonly settings: readonly string[];
  readonly discardUnreadable?: boolean;
  readonly yes?: boolean;
}

const PRINT_EVERY_MS = 1_000;
const QUESTION = 'Secrets that no key of the keyring opens will be destroyed for good. Continue? [y/N] ';
const RETIREMENT = `These keys may now be removed from the keyring on every machine. Keep them elsewhere for as long as you keep
backups of etcd from before: those are still sealed with them.
`;

/**
 * Seals every secret again with the first key of the keyring, so that the other keys can be removed from it. It talks to
 * etcd directly: no token gives access to the keys.
 */
export const rekey: Command<RekeyInput> = async (session, { settings: words, discardUnreadable = false, yes }) => {
  const { terminal } = session;
  const settings = readOperatorSettings(session, words);
  if (settings.secretsDriver !== 'embedded') {
    throw new UsageFault(`the secrets are kept by ${settings.secretsDriver}, which seals them itself.`);
  }
  const path = findSecretsKeyringFile(settings);
  if (!existsSync(path)) throw new UsageFault(`there is no keyring at ${path}; --secrets-key-file names it.`);
  const keyring = loadSecretKeyring(path);
  if (discardUnreadable && !yes && !(await terminal.confirm(QUESTION))) return exitCode.refused;

  return useStore(session, settings, async store => {
    const onProgress = createProgressPrinter(session);
    const { random, interrupted: signal } = terminal;
    const result = await rekeySecrets({ store, keyring, random, discardUnreadable, signal, onProgress });
    return report(session, result, path);
  });
};

function createProgressPrinter({ terminal, ink }: Session): (checked: number, all: number) => void {
  let printedAt = terminal.clock.monotonic();
  return (checked, all) => {
    const now = terminal.clock.monotonic();
    if (now - printedAt < PRINT_EVERY_MS) return;
    printedAt = now;
    terminal.err(`${ink.dim(`${checked} of ${formatCount(all, 'secret')} checked`)}\n`);
  };
}

function report(
  { terminal, ink }: Session,
  { outcome, rewritten, retired, unreadable }: RekeyResult,
  file: string,
): ExitCode {
  terminal.out(`${formatCount(rewritten, 'record')} sealed again\n`);
  switch (outcome) {
    case 'done':
      terminal.out(`${ink.green('done:')} everything is sealed with the first key of ${file}\n`);
      if (retired.length > 0) terminal.out(`no longer used: ${retired.join(', ')}\n${RETIREMENT}`);
      return exitCode.ok;
    case 'unreadable':
      for (const { tenant, path, reason } of unreadable) terminal.err(`  tenant ${tenant}, ${path}: ${reason}\n`);
      terminal.err(
        `${ink.red('not done:')} ${formatCount(unreadable.length, 'secret')} cannot be opened and stayed unchanged. Keep every key.\n` +
          '      Put the missing key back into the keyring, or destroy them with --discard-unreadable.\n',
      );
      return exitCode.refused;
    case 'contested':
      terminal.err(
        `${ink.red('not done:')} another process still seals with another key. Keep every key.\n` +
          '      Give every server and every controllers process this keyring, restart them, and run this again.\n',
      );
      return exitCode.refused;
    case 'stopped':
      terminal.err('stopped: finished work is kept. Keep every key; run this again to continue.\n');
      return exitCode.interrupted;
  }
}
