import type { Role } from '../../crds/tenant/index.js';
import type { DeploymentView, NodeView, SignedIn } from './views.js';

/** A request that a button makes. */
export interface Action {
  readonly label: string;
  readonly method: 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** Only if the object is as it is shown. */
  readonly revision?: string;
  /** What is asked before it is done, where it cannot be undone. */
  readonly question?: string;
  /** Puts what a dry run answers into the question: it is asked for before anything is done. */
  readonly describePreview?: (answer: unknown) => string;
  readonly isNext?: boolean;
  /** Who may do it; those who may change deployments, unless it says so. */
  readonly role?: Role;
}

const RANK: Readonly<Record<Role, number>> = { viewer: 1, deployer: 2, admin: 3 };

/** Whether someone may do what a role may. The server decides; this only hides what it would refuse. */
export function mayDo({ kind, role }: Pick<SignedIn, 'kind' | 'role'>, needed: Role): boolean {
  return kind === 'admin' || (role !== undefined && RANK[role] >= RANK[needed]);
}

const toPath = ({ name }: DeploymentView) => `/api/v1/deployments/${encodeURIComponent(name)}`;

/** A change of a deployment as it is shown. */
function toChange(deployment: DeploymentView, label: string, body: unknown): Action {
  return { label, method: 'PUT', path: toPath(deployment), body, revision: deployment.metadata.revision };
}

/** The actions on a rollout or a canary that is under way, the next step first. */
export function listRolloutActions(deployment: DeploymentView): readonly Action[] {
  const { rollout, status, metadata } = deployment;
  if (metadata.deletedAt !== undefined) return [];
  const order = (label: string, action: string): Action => ({
    label,
    method: 'POST',
    path: `${toPath(deployment)}/canary`,
    body: { action },
    revision: metadata.revision,
  });
  const change = (label: string, paused: boolean) => toChange(deployment, label, { rollout: { ...rollout, paused } });
  const isPaused = rollout?.paused === true;
  return [
    ...(status?.canary
      ? [{ ...order('Promote the canary', 'promote'), isNext: true }, order('Abort the canary', 'abort')]
      : []),
    ...(isPaused ? [{ ...change('Resume the rollout', false), isNext: true }] : []),
    ...(!isPaused && status?.rollout?.state === 'progressing' ? [change('Pause the rollout', true)] : []),
  ];
}

/** What can be done with a deployment at any time. */
export function listDeploymentActions(deployment: DeploymentView, now: number): readonly Action[] {
  if (deployment.metadata.deletedAt !== undefined) return [];
  const question = `Delete ${deployment.name}? Its containers are stopped and removed; its history stays for a while.`;
  return [
    toChange(deployment, 'Restart', { restartedAt: new Date(now).toISOString() }),
    { label: 'Delete', method: 'DELETE', path: toPath(deployment), question },
  ];
}

/** Another number of replicas. */
export function toScaleAction(deployment: DeploymentView, replicas: number): Action {
  return toChange(deployment, 'Scale', { replicas });
}

const SHOWN = 12;

/** What an administrator can order of a node; the question before a fence names what it would move. */
export function listNodeActions(
  { id, name, status, controlPlane }: Pick<NodeView, 'id' | 'name' | 'status' | 'controlPlane'>,
  deployments: Iterable<DeploymentView>,
): readonly Action[] {
  const fence = toNodeOrder(name, 'Fence', 'fence', describeFence(name, listReplicasOn(id, name, deployments)));
  const drain =
    status === 'draining'
      ? toNodeOrder(name, 'End the drain', 'undrain')
      : toNodeOrder(
          name,
          'Drain',
          'drain',
          `Drain ${name}? It gets nothing new, and what can be moved is moved to other nodes.`,
        );
  return controlPlane ? [drain] : [drain, fence];
}

/** An order of an administrator for a node; what has no question ends something. */
export function toNodeOrder(name: string, label: string, verb: string, question?: string): Action {
  const path = `/api/v1/nodes/${encodeURIComponent(name)}/${verb}`;
  return { label, method: 'POST', path, role: 'admin', ...(question === undefined ? { isNext: true } : { question }) };
}

interface ReplicaHere {
  readonly label: string;
  /** It names this node, so it can be nowhere else. */
  readonly isBound: boolean;
}

function listReplicasOn(id: string, name: string, deployments: Iterable<DeploymentView>): readonly ReplicaHere[] {
  return [...deployments].flatMap(({ name: deployment, nodeId, status }) =>
    (status?.placements ?? [])
      .filter(placement => placement.nodeId === id)
      .map(({ replica }) => ({
        label: `${deployment} replica ${replica}`,
        isBound: nodeId === id || nodeId === name,
      })),
  );
}

function describeFence(name: string, here: readonly ReplicaHere[]): string {
  const list = (replicas: readonly ReplicaHere[]) => {
    const labels = replicas.slice(0, SHOWN).map(({ label }) => label);
    return [...labels, ...(replicas.length > SHOWN ? [`${replicas.length - SHOWN} more`] : [])].join(', ');
  };
  const moved = here.filter(({ isBound }) => !isBound);
  const bound = here.filter(({ isBound }) => isBound);
  return [
    `Fence ${name}? Only if the machine is off: what it runs would run twice.`,
    moved.length > 0 ? `To be started elsewhere at once: ${list(moved)}.` : 'Nothing would be moved.',
    ...(bound.length > 0 ? [`Bound to this node, so they wait for it: ${list(bound)}.`] : []),
    'It ends with the next heartbeat of the machine.',
  ].join(' ');
}
