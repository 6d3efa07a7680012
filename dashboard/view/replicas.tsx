import { useSignal } from '@preact/signals';

import type { ReplicaStatus } from '../../crds/deployment/deployment.js';
import { describePull, toPercent } from '../../crds/report/pull.js';
import { findNextRetry } from '../../crds/report/retry.js';
import type { DeploymentView, NodeView, Tone } from '../model/views.js';
import { Ago, Empty, Foreign, MoreRows, Output, PAGE, Pill } from './parts.js';

/** For how many replicas the trouble is shown at first: it is mostly the same with all of them. */
const TROUBLES_SHOWN = 10;

/** The replicas: where each is, how it is, and what is wrong with it in its own words. */
export function Replicas({
  deployment,
  nodes,
}: {
  readonly deployment: DeploymentView;
  readonly nodes: ReadonlyMap<string, NodeView>;
}) {
  const shown = useSignal(PAGE);
  const detailed = useSignal(TROUBLES_SHOWN);
  const placements = deployment.status?.placements ?? [];
  if (placements.length === 0) {
    return (
      <Empty title={deployment.replicas === 0 ? 'It is stopped: it asks for 0 replicas' : 'It has no replicas yet'} />
    );
  }
  const names = new Map([...nodes.values()].map(({ id, name }) => [id, name]));
  const troubled = listTroubled(placements);
  return (
    <>
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Replica</th>
              <th scope="col">Node</th>
              <th scope="col">State</th>
              <th scope="col">Health</th>
              <th scope="col">Restarts</th>
              <th scope="col">Since</th>
              <th scope="col">Image</th>
              <th scope="col">Container</th>
            </tr>
          </thead>
          <tbody>
            {placements.slice(0, shown.value).map(placement => (
              <ReplicaRow
                key={`${placement.replica} ${placement.containerId}`}
                placement={placement}
                node={nameNode(placement, names)}
              />
            ))}
          </tbody>
        </table>
      </div>
      <MoreRows shown={shown} all={placements.length} />
      {troubled.slice(0, detailed.value).map(placement => (
        <ReplicaTrouble
          key={`${placement.replica} ${placement.containerId}`}
          placement={placement}
          node={nameNode(placement, names)}
        />
      ))}
      <MoreRows shown={detailed} all={troubled.length} />
    </>
  );
}

/** Those that something is said of, and of these first those that it still stands in the way of. */
function listTroubled(placements: readonly ReplicaStatus[]): readonly ReplicaStatus[] {
  const troubled = placements.filter(
    ({ message, notMoved, lastEnd, failedCheck }) =>
      message !== undefined || notMoved !== undefined || lastEnd || failedCheck,
  );
  const isBad = ({ message }: ReplicaStatus) => message !== undefined;
  return [...troubled.filter(isBad), ...troubled.filter(each => !isBad(each))];
}

function nameNode({ nodeId, nodeName }: ReplicaStatus, names: ReadonlyMap<string, string>): string | undefined {
  return nodeId === null ? undefined : (nodeName ?? names.get(nodeId) ?? nodeId);
}

const STATE_TONES: Readonly<Record<string, Tone>> = {
  running: 'good',
  exited: 'bad',
  failed: 'bad',
  unknown: 'bad',
  unplaced: 'warn',
};
const HEALTH_TONES: Readonly<Record<string, Tone>> = { healthy: 'good', unhealthy: 'bad', starting: 'busy' };

function ReplicaRow({ placement, node }: { readonly placement: ReplicaStatus; readonly node: string | undefined }) {
  const { replica, state, health, restarts, since, image, containerId, pull } = placement;
  return (
    <tr>
      <th scope="row">{replica}</th>
      <td>
        {node === undefined ? (
          <span class="soft">none yet</span>
        ) : (
          <a href={`#/nodes/${encodeURIComponent(node)}`}>
            <Foreign text={node} />
          </a>
        )}
      </td>
      <td>
        <Pill tone={STATE_TONES[state] ?? 'busy'} text={state} />
        {pull && (
          <progress class="pull" max={100} value={toPercent(pull)} aria-label={`Pulled: ${describePull(pull)}`} />
        )}
      </td>
      <td>
        {health === 'none' ? (
          <span class="soft">no check</span>
        ) : (
          <Pill tone={HEALTH_TONES[health] ?? 'quiet'} text={health} />
        )}
      </td>
      <td>{restarts}</td>
      <td>
        <Ago at={since} />
      </td>
      <td>
        <code>
          <Foreign text={image ?? '-'} />
        </code>
      </td>
      <td>
        <code>{containerId?.slice(0, 12) ?? '-'}</code>
      </td>
    </tr>
  );
}

/** Cause and remedy of one replica, how its container ended last, and its last failing health check. */
function ReplicaTrouble({ placement, node }: { readonly placement: ReplicaStatus; readonly node: string | undefined }) {
  const { replica, message, notMoved, lastEnd, failedCheck, retry, reason } = placement;
  return (
    <div class={`waits ${message === undefined ? 'quiet' : 'bad'}`}>
      <p class="waits-title">
        Replica {replica}
        {node !== undefined && (
          <>
            {' '}
            on <Foreign text={node} />
          </>
        )}
        {reason !== undefined && <Pill tone="bad" text={reason} />}
      </p>
      {message !== undefined && (
        <p>
          <Foreign text={message} />
        </p>
      )}
      {notMoved !== undefined && (
        <p>
          Not moved: <Foreign text={notMoved} />
        </p>
      )}
      {retry && (
        <p>
          Next attempt: <Ago at={new Date(findNextRetry(retry, Date.now())).toISOString()} />
        </p>
      )}
      {lastEnd && (
        <>
          <p>
            Last end: exit code {lastEnd.exitCode}
            {lastEnd.oomKilled && ', out of memory'}, <Ago at={lastEnd.at} />
          </p>
          <Output text={lastEnd.output} isWithheld={lastEnd.isWithheld} />
        </>
      )}
      {failedCheck && (
        <>
          <p>
            Last failing health check:{' '}
            {failedCheck.timedOut ? 'did not end in time' : `exit code ${failedCheck.exitCode}`},{' '}
            <Ago at={failedCheck.at} />
          </p>
          <Output text={failedCheck.output} isWithheld={failedCheck.isWithheld} />
          {(failedCheck.log !== undefined || failedCheck.isLogWithheld) && <p>Its own log then:</p>}
          <Output text={failedCheck.log} isWithheld={failedCheck.isLogWithheld} />
        </>
      )}
    </div>
  );
}
