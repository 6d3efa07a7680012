import { isMovable, type StoredDeployment } from '../../crds/deployment/index.js';
import type { AttemptStatus } from '../../crds/job/index.js';
import { type Reason, toKnownReason } from '../../crds/reasons/index.js';
import type { Report } from '../../crds/report/index.js';
import { describeEnd, isLost, type ObservedReplica } from '../reading/index.js';

/** What became of an attempt: unchanged while nothing new is known of it. */
export function judgeAttempt(
  attempt: AttemptStatus,
  seen: ObservedReplica | undefined,
  workload: StoredDeployment,
  now: string,
): AttemptStatus {
  const fail = (reason: Reason, message: string): AttemptStatus => ({
    ...attempt,
    ...locate(seen),
    state: 'Failed',
    reason,
    message,
    finishedAt: now,
    storedAt: now,
  });
  if (!seen) return fail('container_lost', 'its record was removed by something else: nothing is known of its end');
  const { report, node, nodeName = seen.replica.nodeId ?? '' } = seen;
  // Whatever its end, what it wrote is not in the volume.
  if (seen.isLeftBehind)
    return fail('volume_promoted', `a volume that it mounts was promoted on another node than ${nodeName}`);
  if (report?.state === 'exited' && isEnd(report)) return endByReport(attempt, seen, report, now);
  if (node === 'gone') return fail('node_gone', `its node ${nodeName} was deleted while it ran there`);
  if (isLost(seen, workload)) return fail('node_lost', `its node ${nodeName} failed and did not come back in time`);
  if (report?.state === 'removed')
    return fail('container_lost', 'its container was removed by something else: nothing is known of its end');
  if (seen.misplaced && isMovable(workload))
    return fail('residency_violated', `its node ${nodeName} breaks the residency of the job by now`);
  if (seen.draining && node === 'well' && attempt.state === 'Pending' && report?.state !== 'running')
    return fail('draining', `its node ${nodeName} was drained before it was started there`);
  if (report?.state !== 'running') return { ...attempt, ...locate(seen) };
  const startedAt = attempt.startedAt ?? report.startedAt ?? report.since;
  return { ...attempt, ...locate(seen), state: 'Running', ...(startedAt !== undefined && { startedAt }) };
}

function locate(seen: ObservedReplica | undefined): Pick<AttemptStatus, 'nodeId' | 'nodeName'> {
  const { replica, nodeName } = seen ?? {};
  return {
    ...(replica?.nodeId !== undefined && { nodeId: replica.nodeId }),
    ...(nodeName !== undefined && { nodeName }),
  };
}

/** Whether a report of a container that has exited says how: one that does not is no end of an attempt. */
function isEnd({ exitCode, reason = 'container_exited' }: Report): boolean {
  return exitCode !== undefined || (reason !== 'container_exited' && reason !== 'crash_loop');
}

/** The agent's word that the container has ended, or that it cannot be known any more how. */
function endByReport(attempt: AttemptStatus, seen: ObservedReplica, report: Report, now: string): AttemptStatus {
  const { exitCode, lastEnd, startedAt } = report;
  const times = {
    ...(startedAt !== undefined && { startedAt }),
    finishedAt: lastEnd?.at ?? now,
    storedAt: now,
  };
  const ended = { ...attempt, ...locate(seen), ...(exitCode !== undefined && { exitCode }), ...times };
  const word = report.reason ?? 'container_exited';
  if (exitCode === 0 && word === 'container_exited') return { ...ended, state: 'Succeeded' };
  const isPlain = word === 'container_exited' && exitCode !== undefined;
  const reason = lastEnd?.oomKilled ? 'oom_killed' : toKnownReason(word);
  const end = { exitCode: exitCode ?? 0, at: times.finishedAt, ...lastEnd };
  const message = isPlain
    ? describeEnd(end, seen.replica.template, seen.nodeName ?? report.nodeId)
    : (report.message ?? word);
  return { ...ended, state: 'Failed', reason, message };
}
