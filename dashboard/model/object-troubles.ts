import { formatRemedy } from '../../crds/reasons/index.js';
import type { VolumeView } from '../../crds/volume/view.js';
import { type Action, toNodeOrder } from './actions.js';
import { listJobActions } from './jobs.js';
import { listRotationActions } from './rotation.js';
import type { JobView, ListedSecret, ShownNetwork, Tone } from './views.js';

/** Something that is wrong: what, why, since when, and what helps. */
export interface Trouble {
  readonly key: string;
  readonly tone: Extract<Tone, 'warn' | 'bad'>;
  readonly title: string;
  /** One word that "moor explain" explains. */
  readonly reason?: string;
  readonly cause: string;
  readonly help: string;
  readonly since: string | null;
  /** Where more is said. */
  readonly href: string;
  /** Buttons that help at once. */
  readonly actions?: readonly Action[];
}

/** The worst first, then the newest. */
export function byWeight(a: Trouble, b: Trouble): number {
  if (a.tone !== b.tone) return a.tone === 'bad' ? -1 : 1;
  return (b.since ?? '').localeCompare(a.since ?? '') || a.key.localeCompare(b.key);
}

/** Reasons that are wrong in whatever phase a volume is. */
const BAD_REASONS: readonly string[] = ['volume_waiting', 'record_unusable'];

/** A volume whose bytes cannot be used, that no node can hold, or that cannot leave a node that is drained. */
export function describeVolumeTrouble(volume: VolumeView): Trouble | undefined {
  const { id, name, phase, reason, message, move, since, primaryNodeName } = volume;
  const isDown = phase === 'Failed' || (phase === 'Degraded' && reason !== 'volume_moving');
  const isBad = isDown || (phase !== 'Deleting' && BAD_REASONS.includes(reason));
  const isBlocked = move?.phase === 'Blocked';
  const isRefused = reason === 'volume_refused';
  if (!isBad && !isBlocked && !isRefused) return undefined;
  const about = { key: `volume/${id}`, href: '#/volumes' };
  if (isBlocked && !isBad) {
    const node = primaryNodeName ?? '<node>';
    return {
      ...about,
      tone: 'warn',
      title: `Volume ${name} cannot leave ${primaryNodeName ?? 'its node'}`,
      reason: 'volume_move_blocked',
      cause: move.message,
      help: `It moves by itself as soon as that is done. Or end the drain: "moor nodes undrain ${node}"`,
      since: move.since,
      ...(primaryNodeName !== null && { actions: [toNodeOrder(primaryNodeName, 'End the drain', 'undrain')] }),
    };
  }
  return {
    ...about,
    tone: isBad ? 'bad' : 'warn',
    title: `Volume ${name} is ${phase.toLowerCase()}`,
    reason,
    cause: message,
    help: `${formatRemedy(reason, name) ?? ''} "moor describe volume ${name}" shows its copies and events.`.trimStart(),
    since,
  };
}

/** A network that its engine refuses, or whose node sends no heartbeats. */
export function describeNetworkTrouble({ name, status }: ShownNetwork): Trouble | undefined {
  if (status?.state !== 'failed' && status?.state !== 'unknown') return undefined;
  const { state, reason, message, since } = status;
  return {
    key: `network/${name}`,
    tone: state === 'failed' ? 'bad' : 'warn',
    title: `Network ${name} is ${state}`,
    reason,
    cause: message,
    help: formatRemedy(reason, name) ?? '"moor get networks" shows what is known of it.',
    since,
    href: '#/networks',
  };
}

/** A job that has failed or finds no node. Of a schedule the last run counts, and its runs are not reported by themselves. */
export function describeJobTrouble(job: JobView): Trouble | undefined {
  const { name, schedule, status, metadata } = job;
  if (metadata.deletedAt !== undefined || metadata.owner) return undefined;
  const about = { key: `job/${name}`, href: `#/jobs/${encodeURIComponent(name)}` };
  const { phase, reason, message, lastRun } = status;
  if (schedule !== undefined && lastRun?.phase === 'Failed') {
    const code = lastRun.exitCode === undefined ? '' : ` It ended with exit code ${lastRun.exitCode}.`;
    return {
      ...about,
      tone: 'bad',
      title: `The last run of job ${name} failed`,
      cause: `${lastRun.name} did not succeed.${code}`,
      help: `"moor logs job/${lastRun.name}" shows what it printed; the next run is a new attempt.`,
      since: lastRun.finishedAt ?? null,
    };
  }
  const hasFailed = phase === 'Failed';
  const waits = reason === 'unschedulable' || reason === 'record_unusable' || reason === 'schedule_unusable';
  if (!hasFailed && !waits) return undefined;
  return {
    ...about,
    tone: 'bad',
    title: hasFailed ? `Job ${name} has failed` : `Job ${name} cannot run`,
    ...(reason !== undefined && { reason }),
    cause: message,
    help: hasFailed
      ? `"moor logs job/${name}" shows what it printed; correct it, delete the job and create it again.`
      : `"moor describe job ${name}" says why, node by node.`,
    since: status.finishedAt ?? null,
    actions: listJobActions(job),
  };
}

/** A rotation that is under way: until its end nothing else may write the credential. */
export function describeRotationTrouble({ path, rotation, deployments }: ListedSecret): Trouble | undefined {
  if (!rotation) return undefined;
  const { secret, phase, next, holds, waitsFor, isAborting, since } = rotation;
  const deployment = deployments.includes(rotation.deployment) ? rotation.deployment : deployments[0];
  const command = `moor rotate ${deployment ?? '<deployment>'} --secret ${secret} --phase`;
  const onward = holds ? `"${command} ${next}" goes on` : 'It goes on by itself then';
  return {
    key: `rotation/${path}`,
    tone: 'warn',
    title: `The rotation of ${path} ${isAborting ? 'is turned back' : `is at ${phase}`}`,
    cause:
      waitsFor === null
        ? `The phase is complete, and ${next} is to be asked for. Until the rotation ends, no other request can write the credential.`
        : `It waits for ${waitsFor}.`,
    help: isAborting || phase === 'retire' ? 'It ends by itself.' : `${onward}; "${command} abort" goes back.`,
    since,
    href: deployment === undefined ? '#/secrets' : `#/deployments/${encodeURIComponent(deployment)}`,
    ...(deployment !== undefined && { actions: listRotationActions(deployment, rotation) }),
  };
}
