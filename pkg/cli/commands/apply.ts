import { formatCount } from '../../../crds/grammar/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import type { Client, RejectionAnswer } from '../../client/index.js';
import {
  type DryRunView,
  fetchCurrent,
  formatTitle,
  type ManifestDocument,
  readAppliedManifests,
  sendManifest,
} from '../documents.js';
import { type ExitCode, exitCode } from '../../terminal/index.js';
import { explainFixed, isFixed, listDifferences, listUnmentioned } from '../fixed-kinds.js';
import { applyJsonPatch } from '../../../crds/rejections/json-patch.js';
import { deployments } from '../kinds.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { DeploymentView } from '../../../crds/deployment/index.js';

interface ApplyInput {
  readonly file: readonly string[];
  /** Print what would happen, and change nothing. */
  readonly dryRun?: boolean;
  /** Offer the fixes that the server proposes. */
  readonly fix?: boolean;
  /** Accept the fixes without asking. */
  readonly yes?: boolean;
}

/** A fixed manifest may need another fix, this often. */
const FIXES_MAX = 5;

/**
 * Creates or updates the objects of files.
 *
 * Every file is read before anything is sent, and every object is tried even when one before it was refused, so that one
 * run shows all problems.
 */
export const apply: Command<ApplyInput> = async (session, input) => {
  const manifests = await readAppliedManifests(input.file, session.terminal);
  const client = await session.connect();
  let first: ExitCode = exitCode.ok;
  for (const manifest of manifests) {
    const code = await applyOne(session, client, manifest, input);
    if (first === exitCode.ok) first = code;
  }
  return first;
};

async function applyOne(
  session: Session,
  client: Client,
  manifest: ManifestDocument,
  input: ApplyInput,
): Promise<ExitCode> {
  const before = await fetchCurrent(client, manifest);
  if (!before.ok) return reportRefusal(session, manifest, before);
  const exists = before.value !== undefined;
  if (before.value && isFixed(manifest)) return applyFixed(session, client, manifest, before.value, input);
  let current = manifest;
  for (let fixes = 0; ; fixes++) {
    const answer = await sendManifest<DeploymentView | DryRunView>(client, current, exists, input);
    if (answer.ok) return printResult(session, current, before.value, answer.value);
    const fixed = input.fix && fixes < FIXES_MAX ? await offerFixes(session, current, answer, input) : undefined;
    if (!fixed) return reportRefusal(session, current, answer);
    current = fixed;
  }
}

/** An object that stays as it was created is as the file says, or the file is refused. */
async function applyFixed(
  session: Session,
  client: Client,
  manifest: ManifestDocument,
  stored: object,
  { dryRun }: ApplyInput,
): Promise<ExitCode> {
  const differences = await listDifferences(client, manifest, { ...stored });
  if (differences.length > 0) {
    session.terminal.err(`${stripControls(explainFixed(manifest, differences))}\n`);
    return exitCode.refused;
  }
  const verb = session.ink.green(dryRun ? 'would be unchanged' : 'unchanged');
  session.terminal.out(`${formatTitle(manifest)} ${verb}${dryRun ? ' (dry run)' : ''}\n`);
  for (const field of listUnmentioned(manifest, stored)) {
    session.terminal.err(`  ${session.ink.dim('kept')}     ${field}: not in the file; what was created has it\n`);
  }
  return exitCode.ok;
}

function reportRefusal(session: Session, manifest: ManifestDocument, refusal: RejectionAnswer): ExitCode {
  session.terminal.err(`${formatTitle(manifest)} (${manifest.place}) `);
  return session.reportRejection(refusal, manifest.locate);
}

function printResult(
  session: Session,
  manifest: ManifestDocument,
  before: DeploymentView | undefined,
  view: DeploymentView | DryRunView,
): ExitCode {
  const title = formatTitle(manifest);
  if ('change' in view) printDryRun(session, title, view);
  else {
    const isSame = before?.metadata.generation === view.metadata.generation;
    printWrite(session, title, view, before === undefined ? 'created' : isSame ? 'unchanged' : 'configured');
    if (before !== undefined) printUnmentioned(session, view, manifest.value);
  }
  return exitCode.ok;
}

/** The manifest with the server's fixes. Undefined when the server proposes none, or the user declines. */
async function offerFixes(
  session: Session,
  manifest: ManifestDocument,
  { rejections }: RejectionAnswer,
  { yes = false }: ApplyInput,
): Promise<ManifestDocument | undefined> {
  const { terminal, ink } = session;
  const fixable = rejections.filter(({ fix }) => fix !== undefined);
  // From the last to the first: a step that takes an entry out of a list moves only what comes after it.
  const steps = fixable.toReversed().flatMap(({ fix }) => fix ?? []);
  const value = steps.length === 0 ? undefined : applyJsonPatch(manifest.value, steps);
  if (value === undefined) return undefined;

  terminal.err(`${formatTitle(manifest)} (${manifest.place}) can be fixed:\n`);
  for (const { code, field, fix } of fixable) {
    terminal.err(`  ${ink.bold(stripControls(code))} ${stripControls(field)}\n`);
    for (const step of fix ?? []) terminal.err(`    ${ink.cyan(stripControls(JSON.stringify(step)))}\n`);
  }
  const isAgreed = yes || (await terminal.confirm('Apply with these changes? [y/N] '));
  return isAgreed ? { ...manifest, value: value as ManifestDocument['value'] } : undefined;
}

/** Prints the result of a write, with the alterations and warnings of the server. */
export function printWrite(
  session: Session,
  title: string,
  view: Pick<DeploymentView, 'alterations' | 'warnings'>,
  verb: string,
): void {
  session.terminal.out(`${title} ${session.ink.green(verb)}\n`);
  printRemarks(session, view.alterations ?? [], view.warnings ?? []);
}

const WOULD = { create: 'created', update: 'configured', delete: 'deleted', none: 'unchanged' } as const;

function printDryRun(session: Session, title: string, view: DryRunView): void {
  const { terminal, ink } = session;
  const { change, recreated = [], secrets = [], placement } = view;
  terminal.out(`${title} ${ink.green(`would be ${WOULD[change]}`)} (dry run)\n`);
  printRemarks(session, view.alterations, view.warnings);
  if (recreated.length > 0)
    terminal.out(`  ${ink.cyan('recreated')} ${formatCount(recreated.length, 'container')}, one after the other\n`);
  for (const { path, resolves, missing } of secrets) {
    const state = resolves
      ? ink.green('resolves')
      : ink.red(missing.length > 0 ? `lacks ${missing.join(', ')}` : 'is missing');
    terminal.out(`  ${ink.cyan('secret')}   ${stripControls(path)} ${state}\n`);
  }
  if (!placement) return;
  const { next, unplaced, able } = placement;
  if (next.length > 0) terminal.out(`  ${ink.cyan('placed')}   ${stripControls(next.join(', '))}\n`);
  if (unplaced > 0)
    terminal.out(
      `  ${ink.red('unplaced')} ${formatCount(unplaced, 'replica')}: ${formatCount(able, 'node')} would take one\n`,
    );
}

/** Prints what the server changed and what it warns of. */
export function printRemarks(
  { terminal, ink }: Session,
  alterations: readonly Alteration[],
  warnings: readonly Warning[],
): void {
  for (const { field, to, why } of alterations) {
    const value = to === undefined || to === null ? 'dropped' : `set to ${JSON.stringify(to)}`;
    terminal.out(`  ${ink.cyan('altered')}  ${stripControls(`${field} ${value}: ${why}`)}\n`);
  }
  for (const { field, code, message } of warnings) {
    terminal.err(`  ${ink.yellow('warning')}  ${stripControls(`${field} ${code}: ${message}`)}\n`);
  }
}

/** Fields that a file need not mention. */
const OPTIONAL = new Set([
  'kind',
  'name',
  'replicas',
  'secretsVersion',
  'metadata',
  'status',
  'alterations',
  'warnings',
]);

/** A field that the file no longer mentions stays. The user may have meant to remove it. */
function printUnmentioned({ terminal, ink }: Session, view: DeploymentView, sent: ManifestDocument['value']): void {
  for (const field of Object.keys(view)) {
    if (OPTIONAL.has(field) || field in sent) continue;
    terminal.err(`  ${ink.dim('kept')}     ${field}: not in the file; set it to null to remove it\n`);
  }
}

/** Changes the number of replicas: a PUT of that one field. */
export const scale: Command<{ readonly name: string; readonly replicas: number }> = async (session, input) => {
  const { name, replicas } = input;
  const client = await session.connect();
  const path = `${deployments.path}/${encodeURIComponent(name)}`;
  const answer = await client.request<DeploymentView>('PUT', path, { body: { replicas } });
  if (!answer.ok) return session.reportRejection(answer);
  printWrite(session, `deployment/${name}`, answer.value, `scaled to ${replicas}`);
  return exitCode.ok;
};
