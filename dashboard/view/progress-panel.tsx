import type { CanarySide, RolloutFailure, ScalingStatus } from '../../crds/deployment/deployment.js';
import { formatCanary, formatRollout, formatScaling } from '../../crds/deployment/rollout-text.js';
import type { OpenSession } from '../data/session.js';
import { listRolloutActions, mayDo } from '../model/actions.js';
import type { DeploymentView } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { Ago, Bar, CopiedCommand, Foreign, Output, Panel } from './parts.js';

/** How a change reaches the replicas, what its canary is compared with, how many are wanted, and the next button. */
export function ProgressPanel({
  session,
  deployment,
}: {
  readonly session: OpenSession;
  readonly deployment: DeploymentView;
}) {
  const { name, status } = deployment;
  const { rollout, canary, scaling } = status ?? {};
  const actions = listRolloutActions(deployment);
  if (!rollout && !canary && !scaling && actions.length === 0) return null;
  return (
    <Panel title="Rollout and scaling">
      {rollout && (
        <p>
          <strong>Rollout</strong> <Foreign text={formatRollout(rollout)} />
        </p>
      )}
      {rollout?.failure && <Failure name={name} failure={rollout.failure} />}
      {canary && (
        <>
          <p>
            <strong>Canary</strong> <Foreign text={formatCanary(canary)} />
            {canary.promotesAt !== undefined && (
              <>
                ; the rest follows <Ago at={canary.promotesAt} />
              </>
            )}
          </p>
          <Compared canary={canary.compared.canary} others={canary.compared.others} />
        </>
      )}
      {!canary && rollout?.lastCanary && (
        <p>
          <strong>Last canary</strong>{' '}
          <Foreign
            text={`${rollout.lastCanary.outcome}, revision ${rollout.lastCanary.revision}: ${rollout.lastCanary.message}`}
          />{' '}
          <Ago at={rollout.lastCanary.at} />
        </p>
      )}
      {scaling && <Scaling scaling={scaling} />}
      {actions.length > 0 && mayDo(session.who, 'deployer') && <ActionBar session={session} actions={actions} />}
    </Panel>
  );
}

const TITLES = ['Template', 'Replicas', 'Ready', 'Unhealthy', 'Restarts', 'Exit codes'];

/** What decides whether a canary is worse than what runs beside it. */
function Compared({ canary, others }: { readonly canary: CanarySide; readonly others: CanarySide }) {
  return (
    <div class="scroll">
      <table class="list">
        <caption class="soft">What the canary is compared by</caption>
        <thead>
          <tr>
            {TITLES.map(title => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {([['new: the canary', canary] as const, ['old: the others', others] as const] as const).map(
            ([side, seen]) => (
              <tr key={side}>
                <th scope="row">{side}</th>
                <td>{seen.replicas}</td>
                <td>{seen.ready}</td>
                <td>{seen.unhealthy}</td>
                <td>{seen.restarts}</td>
                <td>{seen.exitCodes.join(', ') || '-'}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

/** The container that a rollout failed with, and what it wrote. */
function Failure({ name, failure }: { readonly name: string; readonly failure: RolloutFailure }) {
  const { revision, at, replica, containerId, nodeName, exitCode, output, log, isWithheld } = failure;
  if (replica === undefined || containerId === undefined) return null;
  const where = nodeName === undefined ? '' : ` on ${nodeName}`;
  const code = exitCode === undefined ? '' : `: exit code ${exitCode}`;
  return (
    <>
      <p>
        Revision {revision} failed <Ago at={at} /> with{' '}
        <Foreign text={`replica ${replica}${where}, container ${containerId.slice(0, 12)}${code}`} />.{' '}
        <CopiedCommand text={`moor logs ${name} --replica ${replica}`} />
      </p>
      <Output text={output} isWithheld={output === undefined && isWithheld} />
      <Output text={log} />
    </>
  );
}

function Scaling({ scaling }: { readonly scaling: ScalingStatus }) {
  const { cpuPercent, targetCpuPercent, memoryPercent, targetMemoryPercent } = scaling;
  const figures = [
    ['CPU', cpuPercent, targetCpuPercent] as const,
    ['Memory', memoryPercent, targetMemoryPercent] as const,
  ];
  return (
    <>
      <p>
        <strong>Scaling</strong> <Foreign text={formatScaling(scaling)} />
      </p>
      {figures.map(
        ([label, used, target]) =>
          used !== undefined &&
          target !== undefined && (
            <Bar
              key={label}
              label={label}
              percent={Math.min(100, Math.round((used / Math.max(1, target)) * 100))}
              text={`${used} % of what is requested; ${target} % is aimed at`}
            />
          ),
      )}
    </>
  );
}
