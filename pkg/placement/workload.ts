import type { LabelConstraint } from '../../crds/workload/index.js';
import type { Amounts, Candidate, Residents } from './candidate.js';
import type { ResidencyRule } from './filters/residency.js';

/** A deployment that may not be met in the same place. */
export interface Apart {
  readonly deployment: string;
  /** What counts as one place: `node`, or the key of a label that nodes of one place share. */
  readonly topologyKey: string;
  /** Whether the workload asks for it itself. Otherwise it is the other deployment that does. */
  readonly own: boolean;
}

/** One quota of the tenant, and how much of it is taken. */
export interface QuotaUse {
  readonly kind: string;
  readonly limit: number;
  readonly used: number;
  /** What one replica adds. */
  readonly asked: number;
}

/** What one replica asks of a node. All replicas of a deployment ask the same. */
export interface Workload {
  readonly tenant: string;
  /** Whether the tenant is the platform's own. */
  readonly platform: boolean;
  /** The name of the deployment. */
  readonly deployment: string;
  /** Id of the one node that will do, if the deployment names one. */
  readonly namedNode?: string;
  readonly residency?: ResidencyRule;
  readonly constraints: readonly LabelConstraint[];
  readonly apart: readonly Apart[];
  /** What replicas are spread over before anything else: `node`, or the key of a label. */
  readonly spreadOver: string;
  readonly requests: Partial<Amounts>;
  /** Host ports, each as `80/tcp`. */
  readonly hostPorts: readonly string[];
  readonly quotas: readonly QuotaUse[];
}

const NOBODY: Residents = { all: 0, staying: 0 };

/** The replicas of the workload's own deployment on the node. */
export function siblingsOn(node: Candidate, { deployment }: Workload): Residents {
  return node.residents.get(deployment) ?? NOBODY;
}

/** The workload when one of its replicas is yet to come: what that replica takes of the quotas is not taken yet. */
export function beforeLast(workload: Workload): Workload {
  const quotas = workload.quotas.map(use =>
    // The deployment itself is there, with or without the replica.
    use.kind === 'deployments' ? use : { ...use, used: use.used - use.asked },
  );
  return { ...workload, quotas };
}

/** The node with `count` replicas of the workload more on it. Less, when it is negative. */
export function occupied(node: Candidate, workload: Workload, count = 1): Candidate {
  const { deployment, requests, hostPorts } = workload;
  const { all, staying } = siblingsOn(node, workload);
  const ports = new Set(node.heldPorts);
  for (const port of hostPorts) if (count > 0) ports.add(port);
  for (const port of hostPorts) if (count < 0) ports.delete(port);
  return {
    ...node,
    used: {
      cpu: node.used.cpu + count * (requests.cpu ?? 0),
      memory: node.used.memory + count * (requests.memory ?? 0),
    },
    heldPorts: ports,
    replicas: node.replicas + count,
    residents: new Map([...node.residents, [deployment, { all: all + count, staying: Math.max(0, staying + count) }]]),
  };
}
