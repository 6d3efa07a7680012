import type { NodeCondition } from '../../crds/node/index.js';
import type { Regions, Residency } from '../../crds/residency/index.js';
import type { LabelConstraint } from '../../crds/workload/index.js';

/** An amount of what nodes have to give: cpu in thousandths of a core, memory in bytes. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

/** The kinds of `Amounts`. */
export const resourceKinds = ['cpu', 'memory'] as const satisfies readonly (keyof Amounts)[];

/** The replicas of one deployment on one node. */
export interface ReplicaCount {
  /** All whose container may be there, those on their way out included. */
  readonly all: number;
  /** Those that are to stay. */
  readonly staying: number;
}

/** One node as placement sees it: what it is, and what is on it already. */
export interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  /** `unknown` until the node monitor has said something. */
  readonly status: NodeCondition | 'unknown';
  /** The control plane's own node: it takes no new work but the platform's. */
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Amounts;
  /** Sum of the requests of every replica on the node. */
  readonly used: Amounts;
  /** Host ports that replicas on the node hold, each as `80/tcp`. */
  readonly heldPorts: ReadonlySet<string>;
  /** Replicas on the node, of any deployment. */
  readonly replicas: number;
  /** The same by the name of their deployment. */
  readonly replicasByDeployment: ReadonlyMap<string, ReplicaCount>;
}

/** A deployment that may not be met in the same place. */
export interface AntiAffinityTerm {
  readonly deployment: string;
  /** What counts as one place: `node`, or the key of a label that nodes of one place share. */
  readonly topologyKey: string;
  /** Whether the workload asks for it itself. Otherwise it is the other deployment that does. */
  readonly own: boolean;
}

/** A residency that is asked for, and what the control plane declares about it. */
export interface ResidencyRule {
  readonly asked: Residency;
  readonly regions: Regions;
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
  readonly antiAffinity: readonly AntiAffinityTerm[];
  /** What replicas are spread over before anything else: `node`, or the key of a label. */
  readonly spreadOver: string;
  readonly requests: Partial<Amounts>;
  /** Host ports, each as `80/tcp`. */
  readonly hostPorts: readonly string[];
  readonly quotas: readonly QuotaUse[];
}

const NOBODY: ReplicaCount = { all: 0, staying: 0 };

/** The replicas of the workload's own deployment on the node. */
export function countSiblings(node: Candidate, { deployment }: Workload): ReplicaCount {
  return node.replicasByDeployment.get(deployment) ?? NOBODY;
}

/** The workload when one of its replicas is yet to come: what that replica takes of the quotas is not taken yet. */
export function withoutLastReplica(workload: Workload): Workload {
  const quotas = workload.quotas.map(use =>
    // The deployment itself is there, with or without the replica.
    use.kind === 'deployments' ? use : { ...use, used: use.used - use.asked },
  );
  return { ...workload, quotas };
}

/** The node with `count` replicas of the workload more on it. Less, when it is negative. */
export function withReplicas(node: Candidate, workload: Workload, count = 1): Candidate {
  const { deployment, requests, hostPorts } = workload;
  const { all, staying } = countSiblings(node, workload);
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
    replicasByDeployment: new Map([
      ...node.replicasByDeployment,
      [deployment, { all: all + count, staying: Math.max(0, staying + count) }],
    ]),
  };
}
