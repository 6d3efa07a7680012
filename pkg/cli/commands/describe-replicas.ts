import type { DeploymentStatus, ReplicaStatus, RolloutStatus } from '../../../crds/deployment/index.js';
import { type ContainerEnd, type FailedCheck, findNextRetry } from '../../../crds/report/index.js';
import type { CellContext } from '../kinds.js';
import { type Fact, formatFacts, formatSection } from '../print/sections.js';
import { formatAge, formatSpan } from '../../../crds/grammar/index.js';
import { stripControls } from '../print/text.js';

/** What replicas are shown with. */
export interface ReplicaContext extends CellContext {
  readonly deployment: string;
  readonly nodeName: (id: string) => string;
}

/** The node of a replica: by the name that its status has, or that a list of nodes has. Undefined while it has none. */
export function nameReplicaNode(
  { nodeId, nodeName }: Pick<ReplicaStatus, 'nodeId' | 'nodeName'>,
  findName: (id: string) => string,
): string | undefined {
  return nodeId ? (nodeName ?? findName(nodeId)) : undefined;
}

const TITLES = [
  'REPLICA',
  'NODE',
  'STATE',
  'SINCE',
  'HEALTH',
  'RESTARTS',
  'GENERATION',
  'IMAGE',
  'USER',
  'CONTAINER',
] as const;

/** The replicas of a deployment: one line each, then what is wrong with each of which something is. */
export function formatReplicaStatuses(status: DeploymentStatus | null | undefined, look: ReplicaContext): string {
  const placements = status?.placements ?? [];
  const table = formatSection(
    'Placements',
    TITLES,
    placements.map(each => toRow(each, look)),
    look.ink.bold,
  );
  return table + formatReplicaTroubles(status, look);
}

/** What is wrong with each replica of which something is, with what its container wrote and when it is tried again. */
export function formatReplicaTroubles(status: DeploymentStatus | null | undefined, look: ReplicaContext): string {
  return (status?.placements ?? []).map(each => formatTrouble(each, look)).join('');
}

function toRow(status: ReplicaStatus, { now, nodeName }: ReplicaContext): readonly string[] {
  const { replica, state, health, restarts, containerId, generation, image, user, since } = status;
  return [
    String(replica),
    nameReplicaNode(status, nodeName) ?? '-',
    state,
    since === undefined ? '-' : formatAge(since, now),
    health,
    String(restarts),
    generation === undefined ? '-' : String(generation),
    image ?? '-',
    user === undefined ? '-' : user || 'root',
    containerId?.slice(0, 12) ?? '-',
  ];
}

/** Cause and remedy of one replica, with what its container wrote; nothing while all is well and it never ended. */
function formatTrouble(status: ReplicaStatus, look: ReplicaContext): string {
  const { replica, message, notMoved, lastEnd, failedCheck, retry } = status;
  if (message === undefined && notMoved === undefined && !lastEnd && !failedCheck) return '';
  const { now, ink, nodeName, deployment } = look;
  const node = nameReplicaNode(status, nodeName);
  const where = node === undefined ? '' : ` on ${stripControls(node)}`;
  const indent = (text: string) => text.replace(/^(?=.)/gm, '  ');
  const facts = (list: readonly Fact[]) => indent(formatFacts(list, look));
  const logs = `moor logs ${deployment} --replica ${replica}`;
  return [
    `${ink.bold(`Replica ${replica}${where}:`)}\n`,
    facts([
      ['Problem', message, ink.red],
      ['Not moved', notMoved],
      ['Next attempt', retry && formatMoment(findNextRetry(retry, now), now)],
      ['Last end', lastEnd && describeEnd(lastEnd, now)],
    ]),
    formatOutput(lastEnd, logs),
    facts([['Health check', failedCheck && describeCheck(failedCheck, now)]]),
    formatOutput(failedCheck, logs),
    failedCheck?.log === undefined && !failedCheck?.isLogWithheld ? '' : indent('Its own log then:\n'),
    failedCheck ? formatOutput({ output: failedCheck.log, isWithheld: failedCheck.isLogWithheld }, logs) : '',
  ].join('');
}

function formatMoment(at: number, now: number): string {
  if (Number.isNaN(at)) return '-';
  return at <= now ? 'now' : `${new Date(at).toISOString()} (in ${formatSpan(at - now)})`;
}

function describeEnd({ exitCode, oomKilled, at }: ContainerEnd, now: number): string {
  return `exit code ${exitCode}${oomKilled ? ', out of memory' : ''}, ${at} (${formatAge(at, now)} ago)`;
}

function describeCheck({ exitCode, timedOut, at }: FailedCheck, now: number): string {
  return `${timedOut ? 'did not end in time' : `exit code ${exitCode}`}, ${at} (${formatAge(at, now)} ago)`;
}

interface WrittenOutput {
  readonly output?: string | undefined;
  readonly isWithheld?: true | undefined;
}

/** The output line by line, each marked, so that it cannot be taken for ours. */
function formatOutput(written: WrittenOutput | undefined, logs: string): string {
  if (!written) return '';
  if (written.isWithheld) return `    (output not shown: it might hold the value of a secret; ${logs})\n`;
  const lines = written.output?.split('\n') ?? [];
  return lines.map(line => `    | ${stripControls(line)}\n`).join('');
}

/** The container that a rollout failed with, and what it wrote; nothing where there was none. */
export function formatFailure(name: string, { rollout }: { readonly rollout?: RolloutStatus }): string {
  if (!rollout?.failure) return '';
  const { revision, at, replica, containerId, containerName, nodeName, exitCode, output, log, isWithheld } =
    rollout.failure;
  if (replica === undefined || containerId === undefined) return '';
  const named = containerName === undefined ? '' : `${containerName}, `;
  const where = nodeName === undefined ? '' : ` on ${nodeName}`;
  const code = exitCode === undefined ? '' : `: exit code ${exitCode}`;
  const container = `replica ${replica}${where}, container ${named}${containerId.slice(0, 12)}${code}`;
  const about = `  revision ${revision} failed at ${at} with ${container}`;
  const logs = `moor logs ${name} --replica ${replica}`;
  return [
    `${stripControls(about)}\n`,
    formatOutput(output === undefined ? { isWithheld } : { output }, logs),
    log === undefined ? '' : `  its own log:\n${formatOutput({ output: log }, logs)}`,
  ].join('');
}
