import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import {
  type CertificateFiles,
  issueEtcdClient,
  issueEtcdMember,
  issueServer,
  openAuthority,
} from '../../certificates/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { formatTable } from '../print/table.js';
import type { Command, Session } from '../session.js';

interface FolderInput {
  readonly folder: string;
}
interface ServerInput extends FolderInput {
  readonly host: readonly string[];
}
interface MemberInput extends ServerInput {
  readonly name: string;
}

const AUTHORITIES = ['server', 'etcd'] as const;
/** It becomes a part of paths, and other certificates have the two names. */
const MEMBER = /^(?!(?:ca|mooring)$)[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

const find = (folder: string, of: (typeof AUTHORITIES)[number]) => resolve(folder, of);
const createClock =
  ({ terminal }: Session) =>
  () =>
    terminal.clock.now();

function print({ terminal, ink }: Session, { ca, cert, key }: CertificateFiles, lines: readonly string[]): void {
  terminal.out(`${lines.join('\n')}\n`);
  terminal.err(
    `${ink.dim(`${cert}, ${key} and ${ca} are readable by this user only: run this as the user that uses them, or copy them. Renew them by "moor admin certs renew", once a month.`)}\n`,
  );
}

/** The certificate of the API server, and the settings that name it. */
export const certifyServer: Command<ServerInput> = (session, { folder, host }) => {
  const files = issueServer(find(folder, 'server'), host, createClock(session));
  print(session, files, [`tlsCertFile: ${files.cert}`, `tlsKeyFile: ${files.key}`, `tlsCaFile: ${files.ca}`]);
  return Promise.resolve(exitCode.ok);
};

/** The certificate of an etcd member, and the options of etcd that name it. */
export const certifyMember: Command<MemberInput> = (session, { folder, name, host }) => {
  if (!MEMBER.test(name))
    throw new UsageFault(
      `"${name}" cannot be the name of a member: small letters, digits, dots and hyphens, not ca or mooring.`,
    );
  const files = issueEtcdMember(find(folder, 'etcd'), { name, hosts: host }, createClock(session));
  const { ca, cert, key } = files;
  print(session, files, [
    `--cert-file=${cert} --key-file=${key} --trusted-ca-file=${ca} --client-cert-auth`,
    `--peer-cert-file=${cert} --peer-key-file=${key} --peer-trusted-ca-file=${ca} --peer-client-cert-auth`,
  ]);
  return Promise.resolve(exitCode.ok);
};

/** The certificate that servers and controllers show to etcd, and the settings that name it. */
export const certifyClient: Command<FolderInput> = (session, { folder }) => {
  const files = issueEtcdClient(find(folder, 'etcd'), createClock(session));
  print(session, files, [`etcdCaFile: ${files.ca}`, `etcdCertFile: ${files.cert}`, `etcdKeyFile: ${files.key}`]);
  return Promise.resolve(exitCode.ok);
};

/** The authorities that a folder has. */
function openAuthorities(session: Session, folder: string) {
  const found = AUTHORITIES.filter(of => existsSync(join(find(folder, of), 'ca.key')));
  if (found.length === 0)
    throw new UsageFault(`${resolve(folder)} holds no authority; "moor admin certs server" makes the first.`);
  return found.map(of => ({ of, authority: openAuthority(of, find(folder, of), createClock(session)) }));
}

export const listCertificates: Command<FolderInput> = (session, { folder }) => {
  const rows = openAuthorities(session, folder).flatMap(({ of, authority }) =>
    authority
      .list()
      .map(({ name, hosts, usages, expiresAt, isDue }) => [
        `${of}/${name}`,
        hosts.join(',') || '-',
        usages.join(',') || 'authority',
        expiresAt,
        isDue ? 'renew it' : '',
      ]),
  );
  session.terminal.out(formatTable(['NAME', 'HOSTS', 'USED AS', 'EXPIRES', 'DUE'], rows));
  return Promise.resolve(exitCode.ok);
};

/** The API server, etcd and the clients of etcd read the new files by themselves. */
export const renewCertificates: Command<FolderInput & { readonly all?: boolean }> = (
  session,
  { folder, all = false },
) => {
  const { terminal, ink } = session;
  const renewed = openAuthorities(session, folder).flatMap(({ of, authority }) =>
    authority.renew({ all }).map(name => `${of}/${name}`),
  );
  for (const name of renewed) terminal.out(`${name} ${ink.green('renewed')}\n`);
  if (renewed.length === 0) terminal.out('nothing is due\n');
  else
    terminal.err(
      `${ink.dim('Servers, controllers and etcd read the files again by themselves, where they were not copied elsewhere.')}\n`,
    );
  return Promise.resolve(exitCode.ok);
};
