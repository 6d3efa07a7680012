import type { Metadata } from '../meta/index.js';

/** What a node has. cpu in thousandths of a core, the others in bytes. */
export interface Capacity {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
}

/** `nodes/<tenant>/<name>`. */
export interface StoredNode {
  readonly metadata: Metadata;
  /** `node_…`; the same as `metadata.uid`. */
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  /** Ed25519, SPKI in base64: whoever re-enrols under this name must hold it. */
  readonly publicKey: string;
  readonly controlPlane: boolean;
  readonly agentVersion: string;
}

/** Whether a node can be given work. */
export type NodeCondition = 'joining' | 'ready' | 'draining' | 'failed';

/** `node-status/<tenant>/<name>`. */
export interface NodeStatus {
  readonly id: string;
  readonly status: NodeCondition;
  readonly reason: string;
  readonly since: string;
}

/** Value of `alive/<tenant>/<name>`. */
export interface NodePresence {
  readonly id: string;
  readonly lease: string;
  readonly since: string;
}
