import { formatRemedy } from '../../../crds/reasons/index.js';
import { type CellContext, formatPairs } from '../kinds.js';
import { type Fact, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import type { Row } from '../print/table.js';
import { choosePaint } from '../print/text.js';
import { formatAge, formatSpan } from '../../../crds/grammar/index.js';
import type { CandidateView } from '../../../crds/scheduling/index.js';
import type { JobView } from '../../../crds/job/index.js';
import { type DescribeEnv, fetchCandidates } from './describe-env.js';
import { formatFilterRemedies, listNodeReasons } from './describe-steps.js';

/** A job: what is asked for, how far it is, its attempts and its events. */
export async function describeJob(view: JobView, env: DescribeEnv): Promise<string> {
  const { state, nodeId } = view.status.history.at(-1) ?? {};
  const candidates = await fetchCandidates(env, state === 'Pending' && nodeId === undefined);
  return formatJob(view, candidates, env);
}

function formatJob(
  view: JobView,
  candidates: readonly CandidateView[],
  { events, look }: Pick<DescribeEnv, 'events' | 'look'>,
): string {
  const { metadata, status, environment = {}, resources = {}, secrets = [] } = view;
  const { limits, ...requests } = resources;
  const { ink, now } = look;
  const facts: readonly Fact[] = [
    ['Name', view.name],
    ['Uid', metadata.uid],
    ['Phase', status.phase, choosePaint(ink, status.phase)],
    ['Message', status.message],
    ['What to do', status.reason && ofJob(formatRemedy(status.reason, view.name) ?? '', view.name)],
    ['Exit code', status.exitCode === undefined ? undefined : String(status.exitCode)],
    ...(view.schedule === undefined ? listAttemptFacts(view) : listScheduleFacts(view, look)),
    ['Created', `${metadata.createdAt} (${formatAge(metadata.createdAt, now)} ago)`],
    ['Started', status.startedAt],
    ['Finished', status.finishedAt],
    ['Image', view.image],
    ['Entrypoint', view.entrypoint?.join(' ')],
    ['Command', view.command?.join(' ')],
    ['Node', view.nodeId],
    ['Time limit', view.timeoutSeconds === undefined ? undefined : `${view.timeoutSeconds}s an attempt`],
    ['Kept', view.ttlSecondsAfterFinished === undefined ? undefined : `${view.ttlSecondsAfterFinished}s after its end`],
    ['Requests', formatPairs(requests as Record<string, string>)],
    ['Limits', limits && formatPairs(limits as Record<string, string>)],
    ['User', view.user],
    ['Root file system', view.readOnlyRootFilesystem ? 'read-only' : undefined],
    ['Environment', formatPairs(environment)],
    ['Secrets', secrets.map(({ name, vault_path: path }) => `${name} from ${path}`).join(', ')],
  ];
  const rows = status.history.map(({ attempt, state, exitCode, nodeName, nodeId, startedAt, reason, message }) => [
    String(attempt),
    state,
    String(exitCode ?? ''),
    nodeName ?? nodeId ?? '',
    formatAge(startedAt, now),
    [reason, message].filter(Boolean).join(': '),
  ]);
  return [
    formatFacts(facts, look),
    formatSection('Runs', ['NAME', 'DUE', 'PHASE', 'EXIT', 'FINISHED'], listRuns(view, look), ink.bold),
    formatSection('Attempts', ['ATTEMPT', 'STATE', 'EXIT', 'NODE', 'STARTED', 'WHY'], rows, ink.bold),
    formatSection('Why no node fits', ['NODE', 'FILTER', 'REASON'], listNodeReasons(candidates), ink.bold),
    ofJob(formatFilterRemedies(candidates, view.name), view.name),
    formatEvents(events, look),
  ].join('');
}

/** Remedies name commands of deployments. */
function ofJob(remedy: string, name: string): string {
  return remedy.replaceAll(`deployment ${name}`, `job ${name}`);
}

function listAttemptFacts({ metadata, status, restartPolicy, backoffLimit }: JobView): readonly Fact[] {
  const { owner, scheduledAt } = metadata;
  return [
    ['Run of', owner && `${owner.name}, due at ${scheduledAt ?? '-'}`],
    ['Restart policy', restartPolicy],
    ['Attempts', `${status.attempts} of ${backoffLimit + 1}`],
    ['Next attempt', status.retryAt],
  ];
}

function listScheduleFacts(view: JobView, { now }: CellContext): readonly Fact[] {
  const { schedule, timeZone, concurrencyPolicy, status, restartPolicy, backoffLimit } = view;
  const { lastRun, nextRunAt, missed, active = [] } = status;
  const end = lastRun?.exitCode === undefined ? '' : ` with exit code ${lastRun.exitCode}`;
  const wait = nextRunAt && `${nextRunAt} (in ${formatSpan(Math.max(0, Date.parse(nextRunAt) - now))})`;
  return [
    ['Schedule', `${schedule} (${timeZone})`],
    ['Overlapping', concurrencyPolicy],
    ['Next run', wait],
    ['Last run', lastRun && `${lastRun.name}, due at ${lastRun.scheduledAt}: ${lastRun.phase}${end}`],
    ['Active', active.join(', ')],
    [
      'Without a run',
      missed &&
        `${missed.count} tick${missed.count === 1 ? '' : 's'}, the last one at ${missed.lastAt}: ${missed.reason}`,
    ],
    ['Restart policy', restartPolicy],
    ['Attempts', `${backoffLimit + 1} a run`],
  ];
}

/** The runs that are kept, the newest first. */
function listRuns({ status }: JobView, { ink, now }: CellContext): readonly Row[] {
  return (status.runs ?? [])
    .toReversed()
    .map(({ name, scheduledAt, phase, exitCode, finishedAt }) => [
      name,
      scheduledAt,
      { text: phase, paint: choosePaint(ink, phase) },
      String(exitCode ?? ''),
      finishedAt === undefined ? '' : `${formatAge(finishedAt, now)} ago`,
    ]);
}
