import type { Client, RejectionAnswer } from '../../client/index.js';
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
import { formatDocument, plain } from '../print/text.js';
import { unifiedDiff } from '../print/unified-diff.js';
import type { Command, Session } from '../session.js';
import type { DeploymentView } from '../views.js';

/**
 * Shows what applying files would change, against what the server holds: 0 when nothing would, 1 when something would, and
 * more when that cannot be determined.
 */
export const diff: Command<{ readonly files: readonly string[] }> = async (session, { files }) => {
  const declared: ManifestDocument[] = [];
  for (const file of files) declared.push(...(await readManifests(file, session.terminal)));
  for (const one of declared) checkManifest(one);

  const client = await session.connect();
  let worst: ExitCode = exitCode.ok;
  for (const one of declared) worst = Math.max(worst, await diffOne(session, client, one)) as ExitCode;
  return worst;
};

async function diffOne(session: Session, client: Client, declared: ManifestDocument): Promise<ExitCode> {
  const before = await fetchCurrent(client, declared);
  if (!before.ok) return unknown(session, declared, before);
  const answer = await sendManifest<DryRunView>(client, declared, before.value !== undefined, { dryRun: true });
  if (!answer.ok) return unknown(session, declared, answer);
  const text = unifiedDiff(await specText(before.value), await specText(answer.value.object), session.ink);
  if (text === '') return exitCode.ok;
  const title = formatTitle(declared);
  session.terminal.out(`${session.ink.bold(`--- ${title} (stored)\n+++ ${title} (${declared.place})`)}\n${text}`);
  return exitCode.refused;
}

/** 1 means that there is a difference; a refusal means that it is unknown. */
function unknown(session: Session, declared: ManifestDocument, refusal: RejectionAnswer): ExitCode {
  session.terminal.err(`${formatTitle(declared)} (${declared.place}) `);
  return Math.max(exitCode.usage, session.reportRejection(refusal, declared.locate)) as ExitCode;
}

const ADDED = new Set(['metadata', 'status', 'alterations', 'warnings']);

/** What an object asks for, as lines that can be compared. */
async function specText(object: DeploymentView | Readonly<Record<string, unknown>> | undefined): Promise<string> {
  if (!object) return '';
  const fields = Object.entries(object).filter(([field]) => !ADDED.has(field));
  const text = await formatDocument(sorted(Object.fromEntries(fields)), 'yaml');
  return text.split('\n').map(plain).join('\n');
}

/** The same document with its fields sorted. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, part]) => [name, sorted(part)]));
}
