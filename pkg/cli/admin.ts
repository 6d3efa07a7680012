import type { Command as Commander } from 'commander';

import type { Run } from './session.js';

/** Adds the commands for operators. They work on a machine of the control plane, with its settings, and use no token. */
export function addAdmin(program: Commander, run: Run): void {
  const admin = program
    .command('admin')
    .description('commands for operators, on a machine of the control plane and with its settings');
  admin
    .command('rekey')
    .description('seal every secret again with the first key of the keyring, without downtime')
    .option('--discard-unreadable', 'destroy the secrets that no key of the keyring opens')
    .option('-y, --yes', 'with --discard-unreadable: do not ask')
    .argument('[settings...]', 'settings of the servers, such as --etcd-endpoints and --secrets-key-file')
    .allowUnknownOption()
    .action((settings: string[], { discardUnreadable, yes }: { discardUnreadable?: true; yes?: true }) =>
      run(async () => (await import('./commands/rekey.js')).rekey, {
        settings,
        discardUnreadable: Boolean(discardUnreadable),
        yes: Boolean(yes),
      }),
    );
}
