import type { Answer, Client } from '../../client/index.js';
import { type Declared, readDeclared } from '../documents.js';
import { type ExitCode, exitCode } from '../exit-code.js';
import { UsageFault } from '../faults.js';
import { deployments } from '../kinds.js';
import { plain } from '../print/plain.js';
import type { Command, Session } from '../session.js';
import type { DeploymentView } from '../views.js';

interface ApplyInput {
  readonly files: readonly string[];
}

/**
 * Makes the server hold what files say.
 *
 * Every file is read before anything is sent, and every object is tried even when one before it was refused, so
 * that one run shows all there is to mend.
 */
export const apply: Command<ApplyInput> = async (session, { files }) => {
  const declared: Declared[] = [];
  for (const file of files) declared.push(...(await readDeclared(file, session.terminal)));
  for (const one of declared) checkKind(one);

  const client = await session.connect();
  let worst: ExitCode = exitCode.ok;
  for (const one of declared) {
    const code = await applyOne(session, client, one);
    if (worst === exitCode.ok) worst = code;
  }
  return worst;
};

function checkKind({ value, place }: Declared): void {
  const { kind, name } = value;
  if (kind !== undefined && kind !== 'Deployment') {
    throw new UsageFault(`${place}: kind ${JSON.stringify(kind)} cannot be applied. Known is Deployment.`);
  }
  if (typeof name !== 'string' || name === '') throw new UsageFault(`${place}: must have a name.`);
}

type Verb = 'created' | 'configured' | 'unchanged';

async function applyOne(session: Session, client: Client, declared: Declared): Promise<ExitCode> {
  const name = String(declared.value['name']);
  const { answer, verb } = await put(client, name, declared.value);
  if (!answer.ok) {
    session.terminal.err(`deployment/${name} (${declared.place}) `);
    return session.refused(answer, declared.locate);
  }
  announce(session, answer.value, verb);
  if (verb !== 'created') announceKept(session, answer.value, declared.value);
  return exitCode.ok;
}

async function put(
  client: Client,
  name: string,
  body: unknown,
): Promise<{ readonly answer: Answer<DeploymentView>; readonly verb: Verb }> {
  const path = `${deployments.path}/${encodeURIComponent(name)}`;
  const before = await client.request<DeploymentView>('GET', path);
  if (!before.ok) {
    const unknown = before.status === 404;
    const answer = unknown ? await client.request<DeploymentView>('POST', deployments.path, { body }) : before;
    return { answer, verb: 'created' };
  }
  const answer = await client.request<DeploymentView>('PUT', path, { body });
  const same = answer.ok && answer.value.metadata.generation === before.value.metadata.generation;
  return { answer, verb: same ? 'unchanged' : 'configured' };
}

/** Says what became of a write, and everything that the server stored beside what was sent. */
export function announce({ terminal, ink }: Session, view: DeploymentView, verb: string): void {
  terminal.out(`deployment/${view.name} ${ink.green(verb)}\n`);
  for (const { field, to, why } of view.alterations ?? []) {
    const value = to === undefined || to === null ? 'dropped' : `set to ${JSON.stringify(to)}`;
    terminal.out(`  ${ink.cyan('altered')}  ${plain(`${field} ${value}: ${why}`)}\n`);
  }
  for (const { field, code, message } of view.warnings ?? []) {
    terminal.err(`  ${ink.yellow('warning')}  ${plain(`${field} ${code}: ${message}`)}\n`);
  }
}

const always = new Set(['kind', 'name', 'replicas', 'secretsVersion', 'metadata', 'status', 'alterations', 'warnings']);

/** A field that a file no longer mentions stays: say so, because a person may have meant to remove it. */
function announceKept({ terminal, ink }: Session, view: DeploymentView, sent: Declared['value']): void {
  for (const field of Object.keys(view)) {
    if (always.has(field) || field in sent) continue;
    terminal.err(`  ${ink.dim('kept')}     ${field}: not in the file; set it to null to remove it\n`);
  }
}
