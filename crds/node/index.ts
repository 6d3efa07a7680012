/**
 * A node: one machine that one tenant has enrolled.
 *
 * Three keys with three writers: `nodes/<tenant>/<name>` (the API: who it is and what it advertises),
 * `node-status/<tenant>/<name>` (the node monitor: whether it is well) and `alive/<tenant>/<name>` (on the
 * node's lease: present while its agent is heard). `node-names/<name>` says which tenant holds the name.
 *
 * @module
 */
import type { Metadata } from '../meta/index.js';

/** What a node has. cpu in thousandths of a core, the others in bytes. */
export interface Capacity {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
}

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

export type NodeCondition = 'joining' | 'ready' | 'draining' | 'failed';

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
