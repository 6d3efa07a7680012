import { getStopGrace, isMovable, type StoredDeployment } from '../../crds/deployment/index.js';
import { describeSilentEngine, type Reason, toKnownReason } from '../../crds/reasons/index.js';
import { type ContainerTemplate, isResolved, type Replica } from '../../crds/replica/index.js';
import type { ContainerEnd, FailedCheck, Report } from '../../crds/report/index.js';
import { again, done, type ReconcileResult } from '../../pkg/reconcile/index.js';
import type { ObservedReplica } from './observed.js';

/** What keeps one replica from being as it should be: a word for programs, cause and remedy for people. */
export interface ReplicaTrouble {
  readonly reason: Reason;
  readonly message: string;
}

/** How long a container may take to be stopped and removed, beyond the time that its template gives it to stop. */
const STOP_WITHIN_MS = 120_000;

/** When the container of a retiring replica should be gone; after that its deployment says so. NaN for one that is to stay. */
function findStopDue({ retiringSince, template }: Replica): number {
  return Date.parse(retiringSince ?? '') + STOP_WITHIN_MS + (getStopGrace(template) ?? 0) * 1000;
}

/** How long an agent may take to say something of a replica that it was given: it does so before it pulls the image. */
const REPORT_WITHIN_MS = 60_000;

/** When something should have been reported of a replica; after that its deployment says so. NaN while no agent was given it. */
function findReportDue(replica: Replica): number {
  const { placedAt, resolved, retiringSince } = replica;
  if (placedAt === undefined || retiringSince !== undefined || !isResolved(replica)) return Number.NaN;
  return Math.max(Date.parse(placedAt), Date.parse(resolved?.at ?? placedAt)) + REPORT_WITHIN_MS;
}

/** A container that is to be removed or to be reported is looked at again when that takes too long: nothing else would wake a loop. */
export function findNextLook(replicas: readonly ObservedReplica[], now: number): ReconcileResult {
  const due = replicas.flatMap(({ replica, report }) =>
    report?.state === 'removed' ? [] : [findStopDue(replica), report ? Number.NaN : findReportDue(replica)],
  );
  const waits = due.map(at => at - now).filter(ms => ms > 0);
  return waits.length === 0 ? done : again(Math.min(...waits), 'a container is being removed, or not reported yet');
}

/** What is wrong with a replica, as far as is known. Undefined when nothing is. */
export function explainTrouble(seen: ObservedReplica, now: string): ReplicaTrouble | undefined {
  const { replica, report, node, nodeName = replica.nodeId ?? '', nodeSince } = seen;
  const since = nodeSince === undefined ? '' : ` since ${nodeSince}`;
  if (node === 'failed' || (node === 'unobserved' && seen.isSilent)) {
    const message = `the agent of node ${nodeName} has sent no heartbeat${since}: check the machine, its network and its agent`;
    return { reason: 'node_failed', message };
  }
  if (node === 'gone') return { reason: 'node_gone', message: `its node ${nodeName} was deleted: it is replaced` };
  if (node === 'unobserved' && seen.nodeName === undefined) {
    const message =
      'the record of its node cannot be worked with, so nothing is known of its container: "moor get nodes" shows which node that is; delete it and enrol it again';
    return { reason: 'record_unusable', message };
  }
  if (node === 'unobserved') {
    const message = describeSilentEngine(`the container engine of node ${nodeName}`, nodeSince);
    return { reason: 'engine_unreachable', message };
  }
  if (seen.reportFault !== undefined) {
    const message = `what the agent of node ${nodeName} has reported cannot be worked with (${seen.reportFault}), so nothing is known of its container: restart that agent to have it report again`;
    return { reason: 'record_unusable', message };
  }
  if (!report && Date.parse(now) >= findReportDue(replica)) {
    const message = `the agent of node ${nodeName} sends heartbeats, but has reported nothing of this replica since ${replica.placedAt}: look at the log of that agent, and restart it`;
    return { reason: 'report_missing', message };
  }
  if (!report || report.state === 'removed') return explainOverdue(seen, now);
  // A container that is to go may be unwell: all that counts is that it goes, and what keeps it.
  const isLeaving = replica.retiringSince !== undefined;
  if (isLeaving && (report.state === 'running' || report.state === 'exited')) return explainOverdue(seen, now);
  if (report.state === 'failed') return explainFailedStep(report, replica.template, nodeName);
  if (report.state === 'exited') return explainExit(report, replica.template, nodeName);
  if (!isLeaving && (report.health === 'unhealthy' || report.failedCheck))
    return explainUnhealthy(report, replica.template);
  if (report.reason !== undefined)
    return { reason: toKnownReason(report.reason), message: report.message || describeWord(report.reason, nodeName) };
  return explainOverdue(seen, now);
}

/** A replica that should have been removed by now, of which its agent says nothing. */
function explainOverdue({ replica, report, nodeName }: ObservedReplica, now: string): ReplicaTrouble | undefined {
  if (report?.state === 'removed' || !(Date.parse(now) >= findStopDue(replica))) return undefined;
  const message = `the agent of node ${nodeName} was asked to remove the container and has not done so: look at the log of that agent and of its container engine`;
  return { reason: 'stop_overdue', message };
}

/** What the engine or a registry has refused, with what can be done about it. */
function explainFailedStep(
  { reason: word = 'failed', message: sent = '' }: Report,
  template: ContainerTemplate,
  nodeName: string,
): ReplicaTrouble {
  const reason = toKnownReason(word);
  const message = sent || describeWord(word, nodeName);
  if (reason.startsWith('image_')) return { reason, message: `image ${template.image}: ${message}` };
  const remedy = REFUSALS.find(({ says }) => says.test(message))?.remedy;
  return { reason, message: remedy === undefined ? message : `${message}: ${remedy}` };
}

/** What is said where an agent gives one word and no more, such as one of a later release. */
function describeWord(word: string, nodeName: string): string {
  return `its agent gives "${word}" as the reason and no more: look at the log of the agent of node ${nodeName}`;
}

/** What engines say when they refuse to create or start a container. */
const REFUSALS: readonly { readonly says: RegExp; readonly remedy: string }[] = [
  {
    says: /no matching entries in|unable to find (?:user|group)/i,
    remedy: 'the image does not know this user; set user to a number, or to a user that the image has',
  },
  {
    says: /port is already allocated|address already in use/i,
    remedy: 'another program of the machine has this host port; stop it, or choose another hostPort',
  },
  { says: /exec format error/i, remedy: 'the image is for another architecture; push one for that of the node' },
  {
    says: /permission denied/i,
    remedy: 'the program may not be executed; correct its mode in the image, or user, or entrypoint',
  },
  {
    says: /executable file not found|no such file or directory|not a directory/i,
    remedy: 'the image has no such program; correct entrypoint or command, or push an image that has it',
  },
  { says: /no space left on device/i, remedy: 'the disk of the node is full; free space on it' },
  { says: /memory limit/i, remedy: 'raise resources.limits.memory' },
];

/** How a container ended that should run. What it wrote decides only which of our own words are said. */
function explainExit(report: Report, template: ContainerTemplate, nodeName: string): ReplicaTrouble {
  const {
    exitCode: code = 0,
    at,
    lastEnd = { exitCode: code, at },
    restarts,
    reason: word = 'container_exited',
  } = report;
  const reason = lastEnd.oomKilled ? 'oom_killed' : toKnownReason(word);
  const again = restarts === 1 ? '1 restart' : `${restarts} restarts`;
  return { reason, message: `${describeEnd(lastEnd, template, nodeName)}; ${again} so far` };
}

/** The end of a container in one sentence: cause and remedy. */
export function describeEnd(end: ContainerEnd, template: ContainerTemplate, nodeName: string): string {
  const { exitCode, oomKilled, output = '' } = end;
  const limit = template.resources?.limits?.memory;
  if (oomKilled) {
    const bound = limit === undefined ? `of node ${nodeName}` : `limit ${limit}`;
    return `ended by the kernel: out of memory (${bound}), exit code ${exitCode}: raise resources.limits.memory, or make the program use less`;
  }
  if (/exec format error/i.test(output)) {
    return `its program is built for another architecture than that of node ${nodeName} (exit code ${exitCode}): push an image for that of the node`;
  }
  if (template.readOnlyRootFilesystem && /read-only file system/i.test(output)) {
    return `its program cannot write to the read-only root file system (exit code ${exitCode}): write below /tmp or /run, or set readOnlyRootFilesystem to false`;
  }
  return ENDS[exitCode]?.(nodeName) ?? describeExitCode(exitCode);
}

function describeExitCode(exitCode: number): string {
  return `its program ended with exit code ${exitCode}: its last lines say why; correct the program, its command or its environment`;
}

const ENDS: Readonly<Record<number, (nodeName: string) => string>> = {
  0: () =>
    'its program ended with exit code 0, as if its work were done: a deployment needs a program that goes on; correct entrypoint or command',
  126: () =>
    'its command cannot be executed (exit code 126): correct the mode of the file in the image, or entrypoint or command',
  127: () =>
    'its command was not found (exit code 127): correct entrypoint or command, or push an image that has the program',
  134: () => 'its program aborted (exit code 134): its last lines say why; correct the program',
  137: nodeName =>
    `it was killed (exit code 137), but not for its own memory limit: look on node ${nodeName} for what kills it, for example the kernel when the machine is out of memory`,
  139: () => 'its program crashed with a segmentation fault (exit code 139): correct the program',
  143: nodeName => `it was ended by a signal from outside (exit code 143): look on node ${nodeName} for what sends it`,
};

/** A container that runs, and whose health check fails or has failed too often. */
function explainUnhealthy({ failedCheck, health }: Report, { healthCheck }: ContainerTemplate): ReplicaTrouble {
  const reason = health === 'unhealthy' ? 'unhealthy' : 'health_check_failing';
  const command = healthCheck ? ` "${healthCheck.command.join(' ').slice(0, 100)}"` : '';
  return { reason, message: `its health check${command} ${describeCheck(failedCheck, healthCheck?.timeout)}` };
}

function describeCheck(check: FailedCheck | undefined, timeout = '30s'): string {
  if (!check) return 'fails: run it in the container, and correct the program or healthCheck.command';
  if (check.timedOut) {
    return `does not end within ${timeout}: make the program answer sooner, or raise healthCheck.timeout`;
  }
  const output = check.output === undefined ? '' : '; its output says why';
  return `fails with exit code ${check.exitCode}${output}: correct the program, or healthCheck.command`;
}

/** Why a replica stays on a node that is lost, silent or drained. Undefined where it is well, or on its way. */
export function explainNotMoved(seen: ObservedReplica, deployment: StoredDeployment): string | undefined {
  const { node, lost, draining, replica, nodeName } = seen;
  const isTroubled = node === 'failed' || node === 'unobserved' || draining === true;
  if (!isTroubled || replica.retiringSince || deployment.metadata.deletedAt) return undefined;
  if (deployment.nodeId !== undefined) {
    return `the deployment names node ${nodeName} (nodeId): remove nodeId, name another node, or bring this one back`;
  }
  if (!isMovable(replica.template)) {
    return draining
      ? 'it writes to a volume, and follows it: moor describe volume says whether that moves, or why it cannot'
      : 'it writes to a volume, which stays on this node';
  }
  if (seen.isSilent) return 'its node is the control plane’s own: what is placed there stays there';
  if (node === 'unobserved') {
    return `its container may still run: start the engine of node ${nodeName} again, or switch the machine off and fence the node (moor nodes fence ${nodeName})`;
  }
  if (node === 'failed' && !lost) return 'its node may still come back: it is moved when the grace period is over';
  return `no other node can take it now: moor explain deployment ${deployment.name} says why`;
}
