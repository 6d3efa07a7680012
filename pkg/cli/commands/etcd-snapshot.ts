import { execFile } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

import { formatCount } from '../../../crds/grammar/index.js';
import type { Settings } from '../../config/index.js';
import { Fault } from '../../fault/index.js';
import { findSecretsKeyringFile } from '../../secrets/index.js';
import { type ExitCode, exitCode, UsageFault } from '../../terminal/index.js';
import { readOperatorSettings } from '../operator-store.js';
import type { Command, Session } from '../session.js';

interface SaveInput {
  readonly file: string;
  readonly settings: readonly string[];
}

interface LayOutInput {
  readonly from: string;
  readonly preview?: boolean;
  readonly confirm?: string;
  readonly without?: readonly string[];
  readonly settings: readonly string[];
  readonly dataDir?: string;
  readonly name?: string;
  readonly initialCluster?: string;
  readonly initialAdvertisePeerUrls?: string;
}

/** A tool of etcd is missing, or could not do it. */
class ToolFault extends Fault {
  readonly retriable = true;
}

const KEYS = (settings: Settings) =>
  settings.secretsDriver === 'embedded'
    ? `${settings.keyFile} and ${findSecretsKeyringFile(settings)}`
    : settings.keyFile;

/** Saves a snapshot of one member that answers. The file appears when it is whole, and was checked. */
export const saveSnapshot: Command<SaveInput> = async (session, { file, settings: words }) => {
  const { terminal, ink } = session;
  if (file.startsWith('--')) throw new UsageFault('name the file first, and the settings after it.');
  const settings = readOperatorSettings(session, words);
  const path = resolve(file);
  if (existsSync(path))
    throw new UsageFault(
      `${path} exists already, and a backup never replaces another: name another file, or move this one away.`,
    );
  const draft = `${path}.part`;
  const failures: string[] = [];
  for (const endpoint of settings.etcdEndpoints) {
    try {
      const member = [`--endpoints=${endpoint}`, ...listTls(settings)];
      await runTool('etcdctl', ['endpoint', 'health', ...member], session); // "save" would wait for ever
      await runTool('etcdctl', ['snapshot', 'save', draft, ...member], session);
      const { revision, totalKey, totalSize } = await checkSnapshot(draft, session);
      renameSync(draft, path);
      terminal.out(
        `${ink.green('saved:')} ${path}, revision ${revision}, ${formatCount(totalKey!, 'key')}, ${totalSize} bytes, of ${endpoint}\n`,
      );
      terminal.err(`${ink.dim(`Of no use without ${KEYS(settings)}: keep a copy of those too, and not beside it.`)}\n`);
      return exitCode.ok;
    } catch (thrown) {
      rmSync(draft, { force: true });
      rmSync(`${draft}.part`, { force: true }); // what etcdctl itself had begun
      if (!(thrown instanceof ToolFault) || terminal.interrupted.aborted) throw thrown;
      failures.push(`${endpoint}: ${thrown.message}`);
    }
  }
  terminal.err(`moor: no member gave a snapshot.\n${failures.map(failure => `  ${failure}\n`).join('')}`);
  return exitCode.unreachable;
};

/** Makes the data directory of one member of a snapshot. etcd is started on it afterwards. */
export const layOutSnapshot: Command<LayOutInput> = async (session, input): Promise<ExitCode> => {
  const { from, dataDir, name, initialCluster, initialAdvertisePeerUrls, settings } = input;
  const { terminal, ink } = session;
  if (input.preview || input.confirm !== undefined || input.without)
    throw new UsageFault('--preview, --confirm and --without are about an etcd that runs; they do not go with --from.');
  if (dataDir === undefined) throw new UsageFault('--from needs --data-dir, the folder that etcd is to be started on.');
  if (settings.length > 0) throw new UsageFault(`with --from, "${settings[0]}" is not known.`);
  if (!existsSync(from)) throw new UsageFault(`there is no file ${resolve(from)}.`);
  if (existsSync(dataDir) && readdirSync(dataDir).length > 0)
    throw new UsageFault(`${resolve(dataDir)} is not empty; move the old data aside first, and keep it.`);
  const given = { name, 'initial-cluster': initialCluster, 'initial-advertise-peer-urls': initialAdvertisePeerUrls };
  const tool = await findRestoreTool(session);
  const words = ['snapshot', 'restore', from, `--data-dir=${dataDir}`, ...tool.options];
  for (const [option, value] of Object.entries(given)) if (value !== undefined) words.push(`--${option}=${value}`);
  if (existsSync(dataDir)) rmdirSync(dataDir); // etcd's tools want to make it themselves
  await runTool(tool.program, words, session);
  terminal.out(`${ink.green('restored:')} ${resolve(from)} to ${resolve(dataDir)}
Next:
  1. every other member in the same way, with its own --name and --initial-advertise-peer-urls
  2. give the data directory to the user that etcd runs as, and start etcd; servers and controllers find it by themselves
  3. moor admin restore --preview --etcd-endpoints …: what would go, which credentials were written after the backup, and the digest of that;
     agents change nothing until the restore is declared
  4. moor admin restore --confirm <digest> --etcd-endpoints …: agents then take what etcd says, although they have seen a newer state
  5. revoke the tokens that were revoked after the backup, and enrol the machines again that were enrolled after it
`);
  return exitCode.ok;
};

/** What is in a snapshot that was saved. etcdutl where there is one: since 3.6 etcdctl cannot say it. */
async function checkSnapshot(file: string, session: Session): Promise<Readonly<Record<string, number>>> {
  const words = ['snapshot', 'status', file, '--write-out=json'];
  const printed = await runTool('etcdutl', words, session).catch(() => runTool('etcdctl', words, session));
  try {
    return JSON.parse(printed) as Record<string, number>;
  } catch (thrown) {
    throw new ToolFault('the snapshot cannot be checked: install etcdutl, which comes with etcd 3.5 and newer', {
      cause: thrown,
    });
  }
}

/** etcdutl where there is one: since 3.6 etcdctl cannot. From 3.5.10 on older cursors of clients are recognised. */
async function findRestoreTool(session: Session) {
  for (const program of ['etcdutl', 'etcdctl']) {
    const help = await runTool(program, ['snapshot', 'restore', '--help'], session).catch(() => undefined);
    if (help === undefined || !help.includes('--data-dir')) continue;
    return {
      program,
      options: help.includes('--bump-revision') ? ['--bump-revision=1000000000', '--mark-compacted'] : [],
    };
  }
  throw new ToolFault('neither etcdutl nor etcdctl is here: install them (on Debian and Ubuntu: etcd-client)');
}

function listTls({ etcdCaFile, etcdCertFile, etcdKeyFile }: Settings): readonly string[] {
  const files = { cacert: etcdCaFile, cert: etcdCertFile, key: etcdKeyFile };
  return Object.entries(files).flatMap(([option, path]) => (path === '' ? [] : [`--${option}=${path}`]));
}

async function runTool(program: string, argv: readonly string[], { terminal }: Session): Promise<string> {
  try {
    const env = { ...terminal.environment, ETCDCTL_API: '3' };
    const { stdout } = await promisify(execFile)(program, argv, { env, signal: terminal.interrupted });
    return stdout;
  } catch (thrown) {
    const { code, stderr = '' } = thrown as { code?: unknown; stderr?: string };
    if (code === 'ENOENT')
      throw new ToolFault(`${program} is not here: install it (on Debian and Ubuntu: etcd-client)`);
    throw new ToolFault(`${program} says: ${stderr.trim().split('\n').at(-1) ?? ''}`, { cause: thrown });
  }
}
