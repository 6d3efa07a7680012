import { formatCount } from '../../../crds/grammar/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import type { ApiAnswer, Client, RejectionAnswer } from '../../client/index.js';
import {
  checkManifest,
  type ManifestDocument,
  readManifests,
  sendManifest,
  fetchCurrent,
  formatTitle,
  type DryRunView,
} from '../documents.js';
import { type ExitCode, exitCode } from '../exit-code.js';
import { applyJsonPatch } from '../json-patch.js';
import { deployments } from '../kinds.js';
import { plain } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { DeploymentView } from '../views.js';

interface ApplyInput {
  readonly files: readonly string[];
  /** Print what would happen, and change nothing. */
  readonly dryRun?: boolean;
  /** Offer the fixes that the server proposes. */
  readonly fix?: boolean;
  /** Take them without asking. */
  readonly yes?: boolean;
}

/** How often a fixed document may turn out to need another fix. */
const FIXES_MAX = 5;

/**
 * Creates or updates the objects of files.
 *
 * Every file is read before anything is sent, and every object is tried even when one before it was refused, so
 * that one run shows everything there is to fix.
 */
export const apply: Command<ApplyInput> = async (session, input) => {
  const declared: ManifestDocument[] = [];
  for (const file of input.files) declared.push(...(await readManifests(file, session.terminal)));
  for (const one of declared) checkManifest(one);

  const client = await session.connect();
  let worst: ExitCode = exitCode.ok;
  for (const one of declared) {
    const code = await applyOne(session, client, one, input);
    if (worst === exitCode.ok) worst = code;
  }
  return worst;
};

async function applyOne(
  session: Session,
  client: Client,
  declared: ManifestDocument,
  input: ApplyInput,
): Promise<ExitCode> {
  const before = await fetchCurrent(client, declared);
  if (!before.ok) return refuse(session, declared, before);
  const exists = before.value !== undefined;
  let current = declared;
  for (let fixes = 0; ; fixes++) {
    const answer = await sendManifest<DeploymentView | DryRunView>(client, current, exists, input);
    if (answer.ok) return printWritten(session, current, before.value, answer);
    const fixed = input.fix && fixes < FIXES_MAX ? await offerFixes(session, current, answer, input) : undefined;
    if (!fixed) return refuse(session, current, answer);
    current = fixed;
  }
}

function refuse(session: Session, declared: ManifestDocument, refusal: RejectionAnswer): ExitCode {
  session.terminal.err(`${formatTitle(declared)} (${declared.place}) `);
  return session.reportRejection(refusal, declared.locate);
}

type Written = Extract<ApiAnswer<DeploymentView | DryRunView>, { ok: true }>;

function printWritten(
  session: Session,
  declared: ManifestDocument,
  before: DeploymentView | undefined,
  { value }: Written,
): ExitCode {
  const title = formatTitle(declared);
  if ('change' in value) {
    announceTrial(session, title, value);
    return exitCode.ok;
  }
  const isSame = before?.metadata.generation === value.metadata.generation;
  announce(session, title, value, before === undefined ? 'created' : isSame ? 'unchanged' : 'configured');
  if (before !== undefined) announceKept(session, value, declared.value);
  return exitCode.ok;
}

/** The document with the server's fixes, once the user has agreed. Undefined when the server proposes none. */
async function offerFixes(
  session: Session,
  declared: ManifestDocument,
  { rejections }: RejectionAnswer,
  { yes = false }: ApplyInput,
): Promise<ManifestDocument | undefined> {
  const { terminal, ink } = session;
  const fixable = rejections.filter(({ fix }) => fix !== undefined);
  // From the last to the first: a step that takes an entry out of a list moves only what comes after it.
  const steps = fixable.toReversed().flatMap(({ fix }) => fix ?? []);
  const value = steps.length === 0 ? undefined : applyJsonPatch(declared.value, steps);
  if (value === undefined) return undefined;

  terminal.err(`${formatTitle(declared)} (${declared.place}) can be fixed:\n`);
  for (const { code, field, fix } of fixable) {
    terminal.err(`  ${ink.bold(plain(code))} ${plain(field)}\n`);
    for (const step of fix ?? []) terminal.err(`    ${ink.cyan(plain(JSON.stringify(step)))}\n`);
  }
  const isAgreed = yes || (await terminal.confirm('Apply with these changes? [y/N] '));
  return isAgreed ? { ...declared, value: value as ManifestDocument['value'] } : undefined;
}

/** Prints the result of a write, and everything that the server altered or warned of. */
export function announce(session: Session, title: string, view: DeploymentView, verb: string): void {
  session.terminal.out(`${title} ${session.ink.green(verb)}\n`);
  announceRemarks(session, view.alterations ?? [], view.warnings ?? []);
}

const WOULD = { create: 'created', update: 'configured', delete: 'deleted', none: 'unchanged' } as const;

function announceTrial(session: Session, title: string, trial: DryRunView): void {
  const { terminal, ink } = session;
  const { change, recreated = [], secrets = [], placement } = trial;
  terminal.out(`${title} ${ink.green(`would be ${WOULD[change]}`)} (dry run)\n`);
  announceRemarks(session, trial.alterations, trial.warnings);
  if (recreated.length > 0)
    terminal.out(`  ${ink.cyan('recreated')} ${formatCount(recreated.length, 'container')}, one after the other\n`);
  for (const { path, resolves, missing } of secrets) {
    const state = resolves
      ? ink.green('resolves')
      : ink.red(missing.length > 0 ? `lacks ${missing.join(', ')}` : 'is missing');
    terminal.out(`  ${ink.cyan('secret')}   ${plain(path)} ${state}\n`);
  }
  if (!placement) return;
  const { next, unplaced, able } = placement;
  if (next.length > 0) terminal.out(`  ${ink.cyan('placed')}   ${plain(next.join(', '))}\n`);
  if (unplaced > 0)
    terminal.out(
      `  ${ink.red('unplaced')} ${formatCount(unplaced, 'replica')}: ${formatCount(able, 'node')} would take one\n`,
    );
}

function announceRemarks(
  { terminal, ink }: Session,
  alterations: readonly Alteration[],
  warnings: readonly Warning[],
): void {
  for (const { field, to, why } of alterations) {
    const value = to === undefined || to === null ? 'dropped' : `set to ${JSON.stringify(to)}`;
    terminal.out(`  ${ink.cyan('altered')}  ${plain(`${field} ${value}: ${why}`)}\n`);
  }
  for (const { field, code, message } of warnings) {
    terminal.err(`  ${ink.yellow('warning')}  ${plain(`${field} ${code}: ${message}`)}\n`);
  }
}

const always = new Set(['kind', 'name', 'replicas', 'secretsVersion', 'metadata', 'status', 'alterations', 'warnings']);

/** A field that a file no longer mentions stays: say so, because the user may have meant to remove it. */
function announceKept({ terminal, ink }: Session, view: DeploymentView, sent: ManifestDocument['value']): void {
  for (const field of Object.keys(view)) {
    if (always.has(field) || field in sent) continue;
    terminal.err(`  ${ink.dim('kept')}     ${field}: not in the file; set it to null to remove it\n`);
  }
}

interface ScaleInput {
  readonly name: string;
  readonly replicas: number;
}

/** Asks for another number of replicas: a PUT of that one field. */
export const scale: Command<ScaleInput> = async (session, { name, replicas }) => {
  const client = await session.connect();
  const path = `${deployments.path}/${encodeURIComponent(name)}`;
  const answer = await client.request<DeploymentView>('PUT', path, { body: { replicas } });
  if (!answer.ok) return session.reportRejection(answer);
  announce(session, `deployment/${name}`, answer.value, `scaled to ${replicas}`);
  return exitCode.ok;
};
