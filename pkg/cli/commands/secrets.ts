import { readFileSync } from 'node:fs';

import type { Alteration, Warning } from '../../../crds/rule/index.js';
import { readManifests } from '../documents.js';
import { type ExitCode, exitCode, UsageFault } from '../../terminal/index.js';
import { secrets } from '../kinds.js';
import { formatTable } from '../print/table.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { printRemarks } from './apply.js';

/** A credential as the server answers it: the names of its keys, and never a value. */
interface SecretView {
  readonly path: string;
  readonly keys: readonly string[];
  readonly version: number;
  readonly deployments: readonly string[];
  readonly jobs?: readonly string[];
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

interface NamedSecret {
  /** `<namespace>/<label>` */
  readonly path: string;
}

/** Where values come from. The command line is seen by every user of the machine, so that it never holds one. */
interface WriteInput extends NamedSecret {
  /** A file with a map of values; `-` is standard input. */
  readonly values?: string;
  /** `<key>=<file>`: each file is one value; `-` is standard input. */
  readonly from?: readonly string[];
}

interface GenerateInput extends WriteInput {
  readonly keys: readonly string[];
  readonly bytes?: number;
  readonly encoding?: string;
  readonly length?: number;
  readonly charset?: string;
}

/** Shows the names of a credential's keys, its version and its consumers. */
export const showCredential: Command<NamedSecret> = async (session, { path }) => {
  const client = await session.connect();
  const answer = await client.request<SecretView>('GET', toUrl(path));
  if (!answer.ok) return session.reportRejection(answer);
  const { keys, version, deployments, jobs = [] } = answer.value;
  const facts = [
    ['version', String(version)],
    ['keys', keys.join(', ')],
    ['used by', [...deployments, ...jobs.map(name => `job/${name}`)].join(', ') || '-'],
  ] as const;
  const lines = facts.map(([name, text]) => `  ${session.ink.dim(name.padEnd(8))} ${stripControls(text)}\n`);
  session.terminal.out(`${session.ink.bold(stripControls(path))}\n${lines.join('')}`);
  return exitCode.ok;
};

/** Writes the next version of a credential, from files or standard input. */
export const writeCredential: Command<WriteInput> = async (session, input) => {
  if (input.values === undefined && input.from === undefined) {
    throw new UsageFault('there is nothing to write: name a file with --values or --from, or - for standard input.');
  }
  return send(session, input, { values: await readValues(session, input) });
};

/** Writes the next version of a credential with values that the server draws. */
export const generateCredential: Command<GenerateInput> = async (session, input) => {
  const { keys, bytes, encoding, length, charset } = input;
  const values = await readValues(session, input);
  const given = Object.keys(values).length > 0 ? { values } : {};
  return send(session, input, { ...given, generate: { keys, bytes, encoding, length, charset } });
};

async function send(session: Session, { path }: NamedSecret, body: object): Promise<ExitCode> {
  const client = await session.connect();
  const answer = await client.request<SecretView>('PUT', toUrl(path), { body });
  if (!answer.ok) return session.reportRejection(answer);
  const { keys, version, alterations = [], warnings = [] } = answer.value;
  session.terminal.out(
    `secret/${stripControls(path)} ${session.ink.green('written')}: version ${version}, keys ${stripControls(keys.join(', '))}\n`,
  );
  printRemarks(session, alterations, warnings);
  return exitCode.ok;
}

interface ConsumersView {
  readonly consumers: readonly {
    readonly deployment?: string;
    readonly job?: string;
    readonly entries: readonly { readonly name: string; readonly anchor: string }[];
    readonly templates: readonly { readonly variable: string; readonly keys: readonly string[] }[];
  }[];
}

/** Lists the deployments and jobs that refer to a credential, and how they use it. */
export const listCredentialConsumers: Command<NamedSecret> = async (session, { path }) => {
  const [, label] = parsePath(path);
  const client = await session.connect();
  const url = `${secrets.path}/resources/${encodeURIComponent(label)}/consumers`;
  const answer = await client.request<ConsumersView>('GET', url);
  if (!answer.ok && answer.status === 404) {
    session.terminal.err(`no deployment and no job refers to ${stripControls(path)}\n`);
    return exitCode.ok;
  }
  if (!answer.ok) return session.reportRejection(answer);
  const rows = answer.value.consumers.map(({ deployment, job, entries, templates }) => [
    deployment ?? `job/${job}`,
    entries.map(({ name }) => name).join(', '),
    entries.map(({ anchor }) => anchor).join(', '),
    templates.map(({ variable, keys }) => `${variable} (${keys.join(', ')})`).join(', ') || '-',
  ]);
  session.terminal.out(formatTable(['USED BY', 'AS', 'ANCHOR', 'TEMPLATES (KEYS)'], rows, session.terminal.width));
  return exitCode.ok;
};

async function readValues(session: Session, { values, from = [] }: WriteInput): Promise<Record<string, unknown>> {
  const inputs = [values, ...from.map(each => each.slice(each.indexOf('=') + 1))].filter(file => file === '-');
  if (inputs.length > 1) throw new UsageFault('standard input can be read once only: one of the files may be -.');
  const read: Record<string, unknown> = {};
  if (values !== undefined) {
    const [first, ...more] = await readManifests(values, session.terminal);
    if (!first || more.length > 0) throw new UsageFault(`${values}: must hold one map of keys and values.`);
    Object.assign(read, first.value);
  }
  for (const each of from) {
    const [key, text] = await readOne(session, each);
    if (Object.hasOwn(read, key)) throw new UsageFault(`${key} is given twice.`);
    Object.defineProperty(read, key, { value: text, enumerable: true });
  }
  return read;
}

/** One value, exactly as its file holds it. What stands behind `=` is not repeated: it may be a value by mistake. */
async function readOne({ terminal, ink }: Session, given: string): Promise<readonly [key: string, text: string]> {
  const at = given.indexOf('=');
  if (at <= 0) throw new UsageFault('--from takes <key>=<file>, or <key>=- for standard input.');
  const [key, file] = [given.slice(0, at), given.slice(at + 1)];
  const text = file === '-' ? await terminal.readInput() : readUtf8(key, file);
  if (text.endsWith('\n')) {
    terminal.err(
      `  ${ink.yellow('warning')}  the value of ${stripControls(key)} ends in a line break, which is kept\n`,
    );
  }
  return [key, text];
}

function readUtf8(key: string, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    const why = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8 text' : code;
    throw new UsageFault(
      `the file for ${key} cannot be read (${why}). --from takes the name of a file; a value never stands on the command line.`,
    );
  }
}

function toUrl(path: string): string {
  return `${secrets.path}/${parsePath(path).map(encodeURIComponent).join('/')}`;
}

function parsePath(path: string): readonly [namespace: string, label: string] {
  const [namespace, label, ...more] = path.split('/');
  if (namespace && label && more.length === 0) return [namespace, label];
  throw new UsageFault(`"${path}" is not the path of a secret. Write it as <namespace>/<label>: deployments/web-db.`);
}
