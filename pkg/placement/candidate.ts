import type { NodeCondition } from '../../crds/node/index.js';

/** An amount of what nodes have to give: cpu in thousandths of a core, memory in bytes. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

/** The kinds of `Amounts`. */
export const kinds = ['cpu', 'memory'] as const satisfies readonly (keyof Amounts)[];

/** The replicas of one deployment on one node. */
export interface Residents {
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
  readonly residents: ReadonlyMap<string, Residents>;
}
