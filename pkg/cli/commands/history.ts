import { type ArchivedRevision, archiveKind } from '../../../crds/archive/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { formatTable, type Row } from '../print/table.js';
import { formatAge } from '../../../crds/grammar/index.js';
import { formatDocument, type OutputFormat } from '../print/text.js';
import { formatUnifiedDiff } from '../print/unified-diff.js';
import type { Command } from '../session.js';
import { formatSpec } from './diff.js';

interface HistoryView {
  readonly name: string;
  readonly deleted: boolean;
  readonly revisions: readonly ArchivedRevision[];
}

interface DifferenceView {
  readonly name: string;
  readonly from: ArchivedRevision;
  readonly to: ArchivedRevision;
}

interface HistoryInput {
  readonly name: string;
  readonly output: OutputFormat;
}

const toPath = (name: string) => `${archiveKind.path}/${encodeURIComponent(name)}`;

/** Lists the configurations that a deployment has had, also one that was deleted. */
export const history: Command<HistoryInput> = async (session, { name, output }) => {
  const { terminal } = session;
  const client = await session.connect();
  const answer = await client.request<HistoryView>('GET', toPath(name));
  if (!answer.ok) return session.reportRejection(answer);
  const { revisions, deleted } = answer.value;
  if (output === 'json' || output === 'yaml') {
    terminal.out(await formatDocument(answer.value, output));
    return exitCode.ok;
  }
  if (output === 'name') {
    terminal.out(revisions.map(({ revision }) => `revision/${revision}\n`).join(''));
    return exitCode.ok;
  }
  const isWide = output === 'wide';
  const titles = ['REVISION', 'CHANGE', 'AGE', 'REPLICAS', 'IMAGE', 'BY', ...(isWide ? ['AT', 'SPEC HASH'] : [])];
  const rows = revisions.map((each): Row => {
    const { revision, at, by, spec, specHash } = each;
    const shown = [`${revision}`, describeChange(each), formatAge(at, terminal.clock.now()), `${spec.replicas}`];
    return [...shown, spec.image, by, ...(isWide ? [at, specHash] : [])];
  });
  terminal.out(formatTable(titles, rows, isWide ? undefined : terminal.width));
  if (deleted) terminal.err('the deployment is deleted; a rollback to one of these revisions creates it again\n');
  return exitCode.ok;
};

/** `rollback to 3` */
function describeChange({ change, fromRevision, fromBackup, reason }: ArchivedRevision): string {
  const source = fromRevision === undefined ? '' : ` to ${fromRevision}`;
  const backup = fromBackup === undefined ? '' : ` of ${fromBackup}`;
  return `${change}${source}${backup}${reason === undefined ? '' : ` (${reason})`}`;
}

const RANGE = /^(\d{1,9})(?:\.\.(\d{1,9})?)?$/;

/** Shows what was changed from one revision to another: 0 when nothing was, 1 when something was. */
export const diffRevisions: Command<{ readonly name: string; readonly revision: string }> = async (session, input) => {
  const { name, revision } = input;
  const [, from, to] = RANGE.exec(revision) ?? [];
  if (from === undefined) throw new UsageFault('--revision takes a number, or two of them: 3, or 3..5.');
  const { terminal, ink } = session;
  const client = await session.connect();
  const answer = await client.request<DifferenceView>('GET', toPath(name), { query: { from, to } });
  if (!answer.ok) return Math.max(exitCode.usage, session.reportRejection(answer)) as typeof exitCode.usage;
  const { from: before, to: after } = answer.value;
  const text = formatUnifiedDiff(await formatSpec(before.spec), await formatSpec(after.spec), ink);
  if (text === '') return exitCode.ok;
  const title = (mark: string, each: ArchivedRevision) =>
    `${mark} deployment/${name} revision ${each.revision} (${describeChange(each)}, ${each.at}, by ${each.by})`;
  terminal.out(`${ink.bold(`${title('---', before)}\n${title('+++', after)}`)}\n${text}`);
  return exitCode.refused;
};
