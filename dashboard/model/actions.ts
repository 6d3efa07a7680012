import type { Role } from '../../crds/tenant/index.js';
import type { DeploymentView, SignedIn } from './views.js';

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
  readonly isNext?: boolean;
}

const RANK: Readonly<Record<Role, number>> = { viewer: 1, deployer: 2, admin: 3 };

/** Whether someone may do what a role may. The server decides; this only hides what it would refuse. */
export function mayDo({ kind, role }: Pick<SignedIn, 'kind' | 'role'>, needed: Role): boolean {
  return kind === 'admin' || (role !== undefined && RANK[role] >= RANK[needed]);
}

/** What can be done with a deployment as it stands. */
export function listDeploymentActions(deployment: DeploymentView, now: number): readonly Action[] {
  const { name, rollout, status, metadata } = deployment;
  if (metadata.deletedAt !== undefined) return [];
  const path = `/api/v1/deployments/${encodeURIComponent(name)}`;
  const change = (label: string, body: unknown): Action => ({
    label,
    method: 'PUT',
    path,
    body,
    revision: metadata.revision,
  });
  const order = (label: string, action: string): Action => ({
    label,
    method: 'POST',
    path: `${path}/canary`,
    body: { action },
    revision: metadata.revision,
  });
  const isPaused = rollout?.paused === true;
  return [
    ...(status?.canary
      ? [{ ...order('Promote the canary', 'promote'), isNext: true }, order('Abort the canary', 'abort')]
      : []),
    ...(isPaused
      ? [{ ...change('Resume the rollout', { rollout: { ...rollout, paused: false } }), isNext: true }]
      : []),
    ...(!isPaused && status?.rollout?.state === 'progressing'
      ? [change('Pause the rollout', { rollout: { ...rollout, paused: true } })]
      : []),
    change('Restart', { restartedAt: new Date(now).toISOString() }),
    {
      label: 'Delete',
      method: 'DELETE',
      path,
      question: `Delete ${name}? Its containers are stopped and removed; its history stays for a while.`,
    },
  ];
}

/** Another number of replicas. */
export function toScaleAction({ name, metadata }: DeploymentView, replicas: number): Action {
  const path = `/api/v1/deployments/${encodeURIComponent(name)}`;
  return { label: 'Scale', method: 'PUT', path, body: { replicas }, revision: metadata.revision };
}

/** What an administrator can order of a node. */
export function listNodeActions({
  name,
  status,
}: {
  readonly name: string;
  readonly status: string;
}): readonly Action[] {
  const order = (label: string, verb: string, question: string): Action => ({
    label,
    method: 'POST',
    path: `/api/v1/nodes/${encodeURIComponent(name)}/${verb}`,
    question,
  });
  if (status === 'draining') return [{ ...order('End the drain', 'undrain', ''), isNext: true }];
  return [
    order('Drain', 'drain', `Drain ${name}? It gets nothing new, and what can be moved is moved to other nodes.`),
  ];
}
