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
import { explainFixed, isFixed, listDifferences } from '../fixed-kinds.js';
import { formatDocument, stripControls } from '../print/text.js';
import { formatUnifiedDiff } from '../print/unified-diff.js';
import type { Command, Session } from '../session.js';

/** Shows what applying files would change: 0 when nothing would, 1 when something would, more when that is unknown. */
export const diff: Command<{ readonly file: readonly string[] }> = async (session, { file }) => {
  const manifests = await readAppliedManifests(file, session.terminal);
  const client = await session.connect();
  let worst: ExitCode = exitCode.ok;
  for (const manifest of manifests) worst = Math.max(worst, await diffOne(session, client, manifest)) as ExitCode;
  return worst;
};

async function diffOne(session: Session, client: Client, manifest: ManifestDocument): Promise<ExitCode> {
  const before = await fetchCurrent(client, manifest);
  if (!before.ok) return reportUnknown(session, manifest, before);
  if (before.value && isFixed(manifest)) return diffFixed(session, client, manifest, { ...before.value });
  const answer = await sendManifest<DryRunView>(client, manifest, before.value !== undefined, { dryRun: true });
  if (!answer.ok) return reportUnknown(session, manifest, answer);
  return printDifference(session, manifest, before.value, answer.value.object);
}

/** An object that cannot be changed: what differs is shown, and that it cannot be applied. */
async function diffFixed(
  session: Session,
  client: Client,
  manifest: ManifestDocument,
  stored: Readonly<Record<string, unknown>>,
): Promise<ExitCode> {
  const differences = await listDifferences(client, manifest, stored);
  if (differences.length === 0) return exitCode.ok;
  session.terminal.err(`${stripControls(explainFixed(manifest, differences))}\n`);
  const shown = differences.filter(({ isShown }) => isShown).map(each => [each.field, each.sent]);
  await printDifference(session, manifest, stored, { ...stored, ...(Object.fromEntries(shown) as object) });
  return exitCode.refused;
}

async function printDifference(
  session: Session,
  manifest: ManifestDocument,
  before: object | undefined,
  after: object,
): Promise<ExitCode> {
  const text = formatUnifiedDiff(await formatSpec(before), await formatSpec(after), session.ink);
  if (text === '') return exitCode.ok;
  const title = formatTitle(manifest);
  session.terminal.out(`${session.ink.bold(`--- ${title} (stored)\n+++ ${title} (${manifest.place})`)}\n${text}`);
  return exitCode.refused;
}

/** Exit code 1 means a difference, so a refusal must have a higher one. */
function reportUnknown(session: Session, manifest: ManifestDocument, refusal: RejectionAnswer): ExitCode {
  session.terminal.err(`${formatTitle(manifest)} (${manifest.place}) `);
  return Math.max(exitCode.usage, session.reportRejection(refusal, manifest.locate)) as ExitCode;
}

/** Fields that the server adds. */
const ADDED = new Set(['metadata', 'status', 'alterations', 'warnings']);

/** The spec of an object, as lines that can be compared. */
export async function formatSpec(object: object | undefined): Promise<string> {
  if (!object) return '';
  const fields = Object.entries(object).filter(([field]) => !ADDED.has(field));
  const text = await formatDocument(sortFields(Object.fromEntries(fields)), 'yaml');
  return text.split('\n').map(stripControls).join('\n');
}

/** The same document with its fields sorted. */
function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, part]) => [name, sortFields(part)]));
}
