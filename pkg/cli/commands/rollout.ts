import type { ArchivedRevision } from '../../../crds/archive/index.js';
import { type CanaryAction, getStatedReplicas, type DeploymentView } from '../../../crds/deployment/index.js';
import { computeTemplateHash } from '../../../crds/replica/index.js';
import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, reportConnection, startDeadline, type WaitOptions } from '../../terminal/index.js';
import { deployments } from '../kinds.js';
import { formatCanary, formatRollout } from '../../../crds/deployment/rollout-text.js';
import { formatTable } from '../print/table.js';
import { formatAge } from '../../../crds/grammar/index.js';
import { paintState, stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { printWrite } from './apply.js';
import { formatFailure } from './describe-replicas.js';

interface RolloutName {
  readonly name: string;
}

const toPath = ({ name }: RolloutName) => `${deployments.path}/${encodeURIComponent(name)}`;
const toArchivePath = ({ name }: RolloutName) => `/api/v1/archives/deployments/${encodeURIComponent(name)}`;

/** Shows how far a rollout is; with `watch`, until it is complete or has failed. */
export const showRollout: Command<RolloutName & WaitOptions & { readonly watch?: boolean }> = async (
  session,
  input,
) => {
  const client = await session.connect();
  const answer = await client.request<DeploymentView>('GET', toPath(input));
  if (!answer.ok) return session.reportRejection(answer);
  if (!input.watch) return printRollout(session, answer.value) ?? exitCode.ok;

  const deadline = startDeadline(session.terminal, input);
  try {
    const options = { signal: deadline.signal, onConnection: reportConnection(session.terminal) };
    for await (const change of client.watch<DeploymentView>(deployments.path, options)) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark' || change.object.name !== input.name) continue;
      if (change.type === 'deleted') return exitCode.notFound;
      const code = printRollout(session, change.object);
      if (code !== undefined) return code;
    }
    return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
  } finally {
    deadline.end();
  }
};

/** Prints one line. Answers an exit code when the rollout is over. */
function printRollout(
  { terminal, ink }: Session,
  { name, metadata, status, replicas: specified }: DeploymentView,
): ExitCode | undefined {
  const isCurrent = status?.uid === metadata.uid && status.observedGeneration >= metadata.generation;
  const { rollout } = status ?? {};
  const replicas = getStatedReplicas({ replicas: specified, ...(status && { status }) });
  const progress = `${status?.updatedReplicas ?? 0} of ${replicas} up to date, ${status?.readyReplicas ?? 0} ready`;
  const text =
    rollout && isCurrent
      ? stripControls(formatRollout(rollout))
      : `revision ${metadata.generation} is not looked at yet`;
  terminal.out(`deployment/${name} ${paintState(ink, status?.phase ?? 'Pending')}: ${progress}; ${text}\n`);
  if (status && isCurrent) terminal.out(formatFailure(name, status));
  if (status?.canary && isCurrent) terminal.out(`  canary ${stripControls(formatCanary(status.canary))}\n`);
  const isUnderWay = rollout?.state === 'progressing' || rollout?.state === 'canary' || rollout?.state === 'paused';
  if (!isCurrent || isUnderWay) return undefined;
  return rollout?.state === 'failed' ? exitCode.refused : exitCode.ok;
}

/** Pauses a rollout, or lets it go on. Nothing is stored when the deployment has changed meanwhile. */
export const pauseRollout: Command<RolloutName & { readonly paused: boolean }> = async (session, input) => {
  const client = await session.connect();
  const current = await client.request<DeploymentView>('GET', toPath(input));
  if (!current.ok) return session.reportRejection(current);
  const { rollout, metadata } = current.value;
  const body = { rollout: { ...rollout, paused: input.paused } };
  const headers = { 'if-match': `"${metadata.revision}"` };
  const answer = await client.request<DeploymentView>('PUT', toPath(input), { body, headers });
  if (!answer.ok) return session.reportRejection(answer);
  printWrite(session, `deployment/${input.name}`, answer.value, input.paused ? 'paused' : 'resumed');
  return exitCode.ok;
};

/** Orders that a canary is promoted or aborted: the canary of the revision that was read, and no later one. */
export const orderCanary: Command<RolloutName & { readonly action: CanaryAction }> = async (session, input) => {
  const client = await session.connect();
  const current = await client.request<DeploymentView>('GET', toPath(input));
  if (!current.ok) return session.reportRejection(current);
  const headers = { 'if-match': `"${current.value.metadata.revision}"` };
  const body = { action: input.action };
  const answer = await client.request<OrderView>('POST', `${toPath(input)}/canary`, { body, headers });
  if (!answer.ok) return session.reportRejection(answer);
  const done = input.action === 'promote' ? 'the rest of the replicas follows' : 'the old template comes back';
  printWrite(session, `deployment/${input.name}`, answer.value, `canary of revision ${answer.value.revision}: ${done}`);
  return exitCode.ok;
};

interface OrderView extends Pick<DeploymentView, 'alterations' | 'warnings'> {
  readonly revision: number;
}

/** Replaces every container, within the bounds of the rollout. */
export const restartDeployment: Command<RolloutName> = async (session, input) => {
  const client = await session.connect();
  const restartedAt = new Date(session.terminal.clock.now()).toISOString();
  const answer = await client.request<DeploymentView>('PUT', toPath(input), { body: { restartedAt } });
  if (!answer.ok) return session.reportRejection(answer);
  printWrite(session, `deployment/${input.name}`, answer.value, 'restarting');
  return exitCode.ok;
};

interface ArchiveView {
  readonly revisions: readonly ArchivedRevision[];
}

/** Lists the revisions of a deployment that made containers, the newest first. */
export const listRollouts: Command<RolloutName> = async (session, input) => {
  const client = await session.connect();
  const answer = await client.request<ArchiveView>('GET', toArchivePath(input));
  if (!answer.ok) return session.reportRejection(answer);
  const now = session.terminal.clock.now();
  const rows = answer.value.revisions
    .toReversed()
    .map(({ revision, change, at, by, spec, reason = '' }) =>
      [String(revision), change, formatAge(at, now), by, spec.image, String(spec.replicas), reason].map(stripControls),
    );
  session.terminal.out(formatTable(['REVISION', 'CHANGE', 'AGE', 'BY', 'IMAGE', 'REPLICAS', 'REASON'], rows));
  return exitCode.ok;
};

/** Brings an earlier revision back: the given one, or the newest with another template than the present one. */
export const undoRollout: Command<RolloutName & { readonly toRevision?: number }> = async (session, input) => {
  const client = await session.connect();
  const target = input.toRevision ?? (await findEarlier(session, client, input));
  if (typeof target !== 'number') return target.code;
  const path = `${toArchivePath(input)}/rollback`;
  const answer = await client.request<DeploymentView>('POST', path, { body: { revision: target } });
  if (!answer.ok) return session.reportRejection(answer);
  printWrite(session, `deployment/${input.name}`, answer.value, `rolled back to revision ${target}`);
  return exitCode.ok;
};

async function findEarlier(
  session: Session,
  client: Client,
  input: RolloutName,
): Promise<number | { readonly code: ExitCode }> {
  const answer = await client.request<ArchiveView>('GET', toArchivePath(input));
  if (!answer.ok) return { code: session.reportRejection(answer) };
  const { revisions } = answer.value;
  const present = revisions.at(-1);
  const earlier =
    present && revisions.findLast(({ spec }) => computeTemplateHash(spec) !== computeTemplateHash(present.spec));
  if (earlier) return earlier.revision;
  session.terminal.err(
    `deployment/${input.name} has no earlier revision with other containers; "moor rollout history ${input.name}" lists all\n`,
  );
  return { code: exitCode.refused };
}
