import type { Answer, Client, Refusal } from '../../client/index.js';
import { type Declared, readDeclared } from '../documents.js';
import { type ExitCode, exitCode } from '../exit-code.js';
import { patched } from '../json-patch.js';
import { plain } from '../print/plain.js';
import type { Command, Session } from '../session.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import type { DeploymentView } from '../views.js';
import { checkDeclared, send, standing, titleOf, type TrialView } from '../writing.js';

interface ApplyInput {
  readonly files: readonly string[];
  /** Say what would happen, and let nothing happen. */
  readonly dryRun?: boolean;
  /** Offer the mends that the server knows of. */
  readonly fix?: boolean;
  /** Take them without asking. */
  readonly yes?: boolean;
}

/** How often a mended document may turn out to need another mend. */
const MENDS_MAX = 5;

/**
 * Makes the server hold what files say.
 *
 * Every file is read before anything is sent, and every object is tried even when one before it was refused, so
 * that one run shows all there is to mend.
 */
export const apply: Command<ApplyInput> = async (session, input) => {
  const declared: Declared[] = [];
  for (const file of input.files) declared.push(...(await readDeclared(file, session.terminal)));
  for (const one of declared) checkDeclared(one);

  const client = await session.connect();
  let worst: ExitCode = exitCode.ok;
  for (const one of declared) {
    const code = await applyOne(session, client, one, input);
    if (worst === exitCode.ok) worst = code;
  }
  return worst;
};

async function applyOne(session: Session, client: Client, declared: Declared, input: ApplyInput): Promise<ExitCode> {
  const before = await standing(client, declared);
  if (!before.ok) return refuse(session, declared, before);
  const exists = before.value !== undefined;
  let current = declared;
  for (let mends = 0; ; mends++) {
    const answer = await send<DeploymentView | TrialView>(client, current, exists, input);
    if (answer.ok) return tell(session, current, before.value, answer);
    const mended = input.fix && mends < MENDS_MAX ? await mend(session, current, answer, input) : undefined;
    if (!mended) return refuse(session, current, answer);
    current = mended;
  }
}

function refuse(session: Session, declared: Declared, refusal: Refusal): ExitCode {
  session.terminal.err(`${titleOf(declared)} (${declared.place}) `);
  return session.refused(refusal, declared.locate);
}

type Written = Extract<Answer<DeploymentView | TrialView>, { ok: true }>;

function tell(session: Session, declared: Declared, before: DeploymentView | undefined, { value }: Written): ExitCode {
  const title = titleOf(declared);
  if ('change' in value) {
    announceTrial(session, title, value);
    return exitCode.ok;
  }
  const isSame = before?.metadata.generation === value.metadata.generation;
  announce(session, title, value, before === undefined ? 'created' : isSame ? 'unchanged' : 'configured');
  if (before !== undefined) announceKept(session, value, declared.value);
  return exitCode.ok;
}

/** The document as the server would mend it, once a person has agreed. Undefined when there is nothing certain. */
async function mend(
  session: Session,
  declared: Declared,
  { rejections }: Refusal,
  { yes = false }: ApplyInput,
): Promise<Declared | undefined> {
  const { terminal, ink } = session;
  const mendable = rejections.filter(({ fix }) => fix !== undefined);
  // From the last to the first: a step that takes an entry out of a list moves only what comes after it.
  const steps = mendable.toReversed().flatMap(({ fix }) => fix ?? []);
  const value = steps.length === 0 ? undefined : patched(declared.value, steps);
  if (value === undefined) return undefined;

  terminal.err(`${titleOf(declared)} (${declared.place}) can be mended:\n`);
  for (const { code, field, fix } of mendable) {
    terminal.err(`  ${ink.bold(plain(code))} ${plain(field)}\n`);
    for (const step of fix ?? []) terminal.err(`    ${ink.cyan(plain(JSON.stringify(step)))}\n`);
  }
  const isAgreed = yes || (await terminal.confirm('Apply with these changes? [y/N] '));
  return isAgreed ? { ...declared, value: value as Declared['value'] } : undefined;
}

/** Says what became of a write, and everything that the server stored beside what was sent. */
export function announce(session: Session, title: string, view: DeploymentView, verb: string): void {
  session.terminal.out(`${title} ${session.ink.green(verb)}\n`);
  announceRemarks(session, view.alterations ?? [], view.warnings ?? []);
}

const WOULD = { create: 'created', update: 'configured', delete: 'deleted', none: 'unchanged' } as const;

function announceTrial(session: Session, title: string, trial: TrialView): void {
  const { terminal, ink } = session;
  const { change, recreated = [], secrets = [], placement } = trial;
  terminal.out(`${title} ${ink.green(`would be ${WOULD[change]}`)} (dry run)\n`);
  announceRemarks(session, trial.alterations, trial.warnings);
  if (recreated.length > 0)
    terminal.out(`  ${ink.cyan('recreated')} ${recreated.length} containers, one after the other\n`);
  for (const { path, resolves, missing } of secrets) {
    const state = resolves
      ? ink.green('resolves')
      : ink.red(missing.length > 0 ? `lacks ${missing.join(', ')}` : 'is missing');
    terminal.out(`  ${ink.cyan('secret')}   ${plain(path)} ${state}\n`);
  }
  if (!placement) return;
  const { next, unplaced, able } = placement;
  if (next.length > 0) terminal.out(`  ${ink.cyan('placed')}   ${plain(next.join(', '))}\n`);
  if (unplaced > 0) terminal.out(`  ${ink.red('unplaced')} ${unplaced} replicas: ${able} nodes would take one\n`);
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

/** A field that a file no longer mentions stays: say so, because a person may have meant to remove it. */
function announceKept({ terminal, ink }: Session, view: DeploymentView, sent: Declared['value']): void {
  for (const field of Object.keys(view)) {
    if (always.has(field) || field in sent) continue;
    terminal.err(`  ${ink.dim('kept')}     ${field}: not in the file; set it to null to remove it\n`);
  }
}
