import type { NodeCondition } from '../../crds/node/index.js';

/** An amount of what nodes have to give: cpu in thousandths of a core, memory in bytes. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
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
  readonly capacity: Amounts;
  /** Sum of the requests of every replica on the node. */
  readonly used: Amounts;
  /** Host ports that replicas on the node hold, each as `80/tcp`. */
  readonly heldPorts: ReadonlySet<string>;
  /** Replicas on the node, of any deployment. */
  readonly replicas: number;
  /** Replicas on the node of the very deployment being placed. */
  readonly siblings: number;
}

/** What one replica asks of a node. All replicas of a deployment ask the same. */
export interface Workload {
  readonly tenant: string;
  /** Whether the tenant is the platform's own. */
  readonly platform: boolean;
  /** Id of the one node that will do, if the deployment names one. */
  readonly namedNode?: string;
  readonly requests: Partial<Amounts>;
  /** Host ports, each as `80/tcp`. */
  readonly hostPorts: readonly string[];
}

/** The node with one replica of the workload more on it. */
export function occupied(node: Candidate, workload: Workload): Candidate {
  return {
    ...node,
    used: {
      cpu: node.used.cpu + (workload.requests.cpu ?? 0),
      memory: node.used.memory + (workload.requests.memory ?? 0),
    },
    heldPorts: workload.hostPorts.length === 0 ? node.heldPorts : new Set([...node.heldPorts, ...workload.hostPorts]),
    replicas: node.replicas + 1,
    siblings: node.siblings + 1,
  };
}
