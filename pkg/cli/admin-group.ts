import type { Command as Commander } from 'commander';

import type { Options, Run } from './options.js';

const SETTINGS = 'settings of the servers, such as --etcd-endpoints or --config';

/** As commander gives them: what goes with --from by its own name. */
interface RestoreOptions {
  readonly from?: string;
  readonly preview?: boolean;
  readonly confirm?: string;
  readonly without?: readonly string[];
}

const collect = (word: string, before: readonly string[] = []): readonly string[] => [...before, word];

/** `moor admin …`: for operators, with the settings of the servers instead of a token. */
export function addAdmin(program: Commander, run: Run): void {
  const admin = program.command('admin').description('commands for operators, on a machine of the control plane');
  admin
    .command('bootstrap')
    .description('make the first administrator of a new control plane, and print the token')
    .option('--another', 'make one more, because the token of the last one was lost')
    .option('--wait', 'wait for a server that was just started to make its key file, at most a minute')
    .argument('[settings...]', SETTINGS)
    .allowUnknownOption()
    .action((settings: readonly string[], options: Options) =>
      run(async () => (await import('./commands/first-administrator.js')).firstAdministrator, { settings, ...options }),
    );
  admin
    .command('backup <file>')
    .description('save a snapshot of etcd to a new file, checked by etcdctl')
    .argument('[settings...]', SETTINGS)
    .allowUnknownOption()
    .action((file: string, settings: readonly string[]) =>
      run(async () => (await import('./commands/etcd-snapshot.js')).saveSnapshot, { file, settings }),
    );
  admin
    .command('restore')
    .description(
      'declare that etcd was restored from a backup, so that agents accept what it says; or, with --from, lay the data of one member out',
    )
    .option('--preview', 'show what agents would remove and what is newer on the nodes, and declare nothing')
    .option('--confirm <digest>', 'declare what --preview has shown, by the digest that it ends with')
    .option('--without <node>', 'leave a node out, which then goes on holding; may be repeated', collect)
    .option('--from <file>', 'the snapshot to make a data directory of, before etcd is started')
    .option('--data-dir <folder>', 'with --from: the data directory to make')
    .option('--name <member>', 'with --from: the --name of the member')
    .option('--initial-cluster <list>', 'with --from: as the members are started with it')
    .option('--initial-advertise-peer-urls <list>', 'with --from: as the member is started with it')
    .argument('[settings...]', SETTINGS)
    .allowUnknownOption()
    .action((settings: readonly string[], options: RestoreOptions) => {
      const { from, preview = false, confirm, without, ...member } = options;
      const shown = { preview, ...(confirm !== undefined && { confirm }), ...(without && { without }) };
      return from === undefined
        ? run(async () => (await import('./commands/restore.js')).restore, { settings, member, ...shown })
        : run(async () => (await import('./commands/etcd-snapshot.js')).layOutSnapshot, {
            from,
            settings,
            ...shown,
            ...member,
          });
    });
  admin
    .command('rekey')
    .description('seal every secret again with the first key of the keyring, without downtime')
    .option('--discard-unreadable', 'destroy the secrets that no key of the keyring opens')
    .option('-y, --yes', 'with --discard-unreadable: do not ask')
    .argument('[settings...]', 'settings of the servers, such as --etcd-endpoints and --secrets-key-file')
    .allowUnknownOption()
    .action((settings: readonly string[], options: Options) =>
      run(async () => (await import('./commands/rekey.js')).rekey, { settings, ...options }),
    );
  addCerts(admin, run);
}

function addCerts(admin: Commander, run: Run): void {
  const certs = admin
    .command('certs')
    .description('a private certificate authority for the API server, and one for etcd');
  const command = (name: string, about: string) =>
    certs
      .command(name)
      .description(about)
      .requiredOption('--folder <path>', 'where authorities and certificates are kept');
  command('server', 'issue the certificate of the API server, or renew it')
    .requiredOption('--host <host>', 'a name or an address that clients call it by; may be repeated', collect)
    .action((options: { folder: string; host: readonly string[] }) =>
      run(async () => (await import('./commands/certs.js')).certifyServer, options),
    );
  command('etcd', 'issue the certificate of an etcd member, for clients and peers, or renew it')
    .requiredOption('--name <member>', 'name of the member, and of its files')
    .requiredOption('--host <host>', 'a name or an address that it is called by; may be repeated', collect)
    .action((options: { folder: string; name: string; host: readonly string[] }) =>
      run(async () => (await import('./commands/certs.js')).certifyMember, options),
    );
  command('client', 'issue the certificate that servers and controllers show to etcd, or renew it').action(
    (options: { folder: string }) => run(async () => (await import('./commands/certs.js')).certifyClient, options),
  );
  command('list', 'show what was issued, and what is to be renewed').action((options: { folder: string }) =>
    run(async () => (await import('./commands/certs.js')).listCertificates, options),
  );
  command('renew', 'issue again what has less than half of its life left')
    .option('--all', 'everything, however new')
    .action((options: { folder: string }) =>
      run(async () => (await import('./commands/certs.js')).renewCertificates, options),
    );
}
