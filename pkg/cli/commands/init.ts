import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { stringify } from 'yaml';

import { isDnsLabel, isPinned, parseImageReference } from '../../../crds/grammar/index.js';
import { convertInspection } from '../convert/inspect.js';
import { type ConversionNote, convertService, toDeploymentName } from '../convert/service.js';
import { type ComposeMap, escapeVariables } from '../convert/values.js';
import { exitCode, UsageFault, type Terminal } from '../../terminal/index.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';

interface InitInput {
  readonly name?: string;
  readonly image?: string;
  readonly port?: readonly string[];
  readonly env?: readonly string[];
  readonly replicas?: number;
  readonly cpu?: string;
  readonly memory?: string;
  /** The file with what `docker inspect` printed. */
  readonly inspect?: string;
  readonly file?: string;
  readonly force?: boolean;
}

/** Writes a first document: from flags, from what `docker inspect` printed, or by asking. It asks no server. */
export const init: Command<InitInput> = async (session, input) => {
  const { documents, notes } =
    input.inspect === undefined ? await describeOne(session.terminal, input) : await inspect(session.terminal, input);
  for (const { field, message } of notes)
    session.terminal.err(`${session.ink.bold(stripControls(field))}: ${stripControls(message)}\n`);
  if (documents.length === 0) {
    session.terminal.err('moor: nothing could be written.\n');
    return exitCode.refused;
  }
  write(session, input, documents);
  return exitCode.ok;
};

interface Draft {
  readonly documents: readonly ComposeMap[];
  readonly notes: readonly ConversionNote[];
}

async function inspect(terminal: Terminal, input: InitInput): Promise<Draft> {
  const { inspect: path = '-', name, image, port, env, replicas, cpu, memory } = input;
  if ([name, image, port, env, replicas, cpu, memory].some(each => each !== undefined))
    throw new UsageFault('--inspect takes everything from containers: change the file that is written instead.');
  const text = path === '-' ? await terminal.readInput() : readText(path);
  const conversion = convertInspection(parse(text, path));
  if (!conversion) throw new UsageFault('no container is described: pipe in the output of "docker inspect CONTAINER".');
  return conversion;
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // What the parser says may quote a credential.
    throw new UsageFault(
      `${path === '-' ? 'standard input' : path} is no JSON: it takes what "docker inspect" prints.`,
    );
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new UsageFault(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** One deployment, of flags; where no image is named, of answers. */
async function describeOne(terminal: Terminal, input: InitInput): Promise<Draft> {
  const image = input.image ?? (await askFor(terminal, 'Image, with its version', '', refuseImage));
  const proposed = input.name ?? proposeName(image);
  const isAsking = input.image === undefined;
  const name = isAsking && input.name === undefined ? await askFor(terminal, 'Name', proposed, refuseName) : proposed;
  for (const refusal of [refuseImage(image), refuseName(name)])
    if (refusal !== undefined) throw new UsageFault(refusal);
  refuseToReplace(input, `${name}.yaml`);

  const answers = isAsking ? await askForRest(terminal, input) : {};
  const { port, env, replicas, cpu, memory, check } = { ...answers, ...input } as InitInput & Answers;
  const service = {
    image,
    ...(replicas !== undefined && { scale: replicas }),
    ...(port && { ports: port }),
    ...(env && { environment: env }),
    ...(check !== undefined && { healthcheck: { test: ['CMD-SHELL', check] } }),
    ...(cpu !== undefined && { deploy: { resources: { reservations: { cpus: cpu } } } }),
    ...(memory !== undefined && { mem_limit: memory }),
  };
  const bad = (port ?? []).map(refusePort).find(each => each !== undefined);
  if (bad !== undefined) throw new UsageFault(bad);
  const { document, notes } = convertService(name, escapeVariables(service) as ComposeMap);
  const wrong = notes.find(({ field }) => field !== 'environment');
  if (wrong) throw new UsageFault(`${wrong.field} ${wrong.message}.`);
  return { documents: document ? [document] : [], notes };
}

interface Answers {
  readonly port?: readonly string[];
  readonly replicas?: number;
  readonly check?: string;
}

async function askForRest(terminal: Terminal, { port, replicas }: InitInput): Promise<Answers> {
  const ports = port ?? [
    await askFor(terminal, 'Port that it listens on, 8080:80 for 8080 of the machine', 'none', refusePort),
  ];
  const count = replicas ?? Number(await askFor(terminal, 'Replicas', '1', refuseCount));
  const check = await askFor(terminal, 'Command in the container that checks whether it is healthy', 'none');
  return {
    ...(ports[0] !== 'none' && { port: ports }),
    replicas: count,
    ...(check !== 'none' && { check }),
  };
}

/** Asks until the answer can be used. An empty one stands for the proposal. */
async function askFor(
  terminal: Terminal,
  question: string,
  proposed: string,
  refuse: (answer: string) => string | undefined = () => undefined,
): Promise<string> {
  for (;;) {
    const typed = await terminal.ask(`${question}${proposed === '' ? '' : ` [${proposed}]`}: `);
    if (typed === undefined)
      throw new UsageFault(
        'no answer can be read from this terminal: name an image with --image, or describe a container with --inspect.',
      );
    const answer = typed.trim() || proposed;
    const refusal = refuse(answer);
    if (refusal === undefined) return answer;
    terminal.err(`${refusal}\n`);
  }
}

function refuseImage(text: string): string | undefined {
  const reference = parseImageReference(text);
  if (reference && isPinned(reference)) return undefined;
  return 'an image is named with its version, as registry.example.com/shop/web:1.4.2; "latest" is none.';
}

function refuseName(text: string): string | undefined {
  return isDnsLabel(text)
    ? undefined
    : 'a deployment is named by lower case letters, digits and hyphens, 63 at most, the first a letter.';
}

function refusePort(text: string): string | undefined {
  const ports = /^(?:(\d{1,5}):)?(\d{1,5})(?:\/(?:tcp|udp))?$/.exec(text)?.slice(1) ?? ['0'];
  const isSound = ports.every(port => port === undefined || (Number(port) > 0 && Number(port) < 2 ** 16));
  return text === 'none' || isSound ? undefined : `"${text}" is no port: write 8080, 8080:80 or 53/udp.`;
}

function refuseCount(text: string): string | undefined {
  return /^\d{1,3}$/.test(text) ? undefined : 'write a number.';
}

/** `registry.example.com/shop/web:1.4.2` → `web` */
function proposeName(image: string): string {
  return toDeploymentName(parseImageReference(image)?.name.split('/').at(-1) ?? '');
}

function refuseToReplace({ file: named, force }: InitInput, proposed: string): void {
  const path = named ?? proposed;
  if (path !== '-' && !force && existsSync(path))
    throw new UsageFault(`${path} exists already. Choose another with --file, or replace it with --force.`);
}

function write({ terminal, ink }: Session, input: InitInput, documents: readonly ComposeMap[]): void {
  const [only, ...others] = documents;
  const file = input.file ?? (others.length === 0 ? `${String(only!['name'])}.yaml` : 'deployments.yaml');
  const text = documents.map(document => stringify(document, { lineWidth: 0 })).join('---\n');
  if (file === '-') {
    terminal.out(text);
    return;
  }
  refuseToReplace(input, file);
  try {
    writeFileSync(file, text, { flag: input.force ? 'w' : 'wx' });
  } catch (cause) {
    throw new UsageFault(`${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
  terminal.out(`${file} ${ink.green('written')}\n`);
  terminal.err(`${ink.dim(`Next: moor apply -f ${file} --dry-run, and the same without --dry-run`)}\n`);
}
