import type { NodeCondition, NodeFeature } from '../../crds/node/index.js';
import type { Regions, Residency } from '../../crds/residency/index.js';
import type { LabelConstraint } from '../../crds/workload/index.js';

/** Resources of a node: cpu in thousandths of a core, memory in bytes. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

/** The kinds of `Amounts`. */
export const resourceKinds = ['cpu', 'memory'] as const satisfies readonly (keyof Amounts)[];

/** The replicas of one deployment on one node. */
export interface ReplicaCount {
  /** Every replica that may have a container, retiring ones included. */
  readonly all: number;
  /** Replicas that are not retiring. */
  readonly staying: number;
}

/** One node with the load on it. */
export interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  /** `unknown` until the node monitor has written a status; `unusable` when the record of the node cannot be worked with. */
  readonly status: NodeCondition | 'unknown' | 'unusable';
  /** The control plane's own node: it takes only the platform's workloads. */
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Amounts;
  /** Sum of the requests of every replica on the node. */
  readonly used: Amounts;
  /** Host ports that replicas on the node hold, each as `80/tcp`. */
  readonly heldPorts: ReadonlySet<string>;
  /** What its engine cannot do. */
  readonly lacks?: readonly string[];
  /** Replicas on the node, of any deployment. */
  readonly replicas: number;
  /** The same, by the name of their deployment. */
  readonly replicasByDeployment: ReadonlyMap<string, ReplicaCount>;
}

/** A deployment whose replicas may not share a topology domain with the workload. */
export interface AntiAffinityTerm {
  readonly deployment: string;
  /** What makes a topology domain: `node`, or the key of a label that the nodes of one domain share. */
  readonly topologyKey: string;
  /** True when the workload declares the term, false when the other deployment does. */
  readonly own: boolean;
}

/** The residency of a deployment, with the regions that the operator declares. */
export interface ResidencyRule {
  readonly asked: Residency;
  readonly regions: Regions;
}

/** Where a network is that a workload joins. */
export interface NetworkPlace {
  readonly name: string;
  /** Id of its node; absent when there is no such network. */
  readonly nodeId?: string;
  /** The name of its node, for people. */
  readonly node?: string;
}

/** Where the bytes of a volume are that a workload mounts. */
export interface VolumePlace {
  readonly id: string;
  /** What the tenant calls it; absent when there is no such volume. */
  readonly name?: string;
  /** Id of its node; absent while none is chosen, or a copy takes over. */
  readonly nodeId?: string;
  /** The name of its node, for people. */
  readonly node?: string;
  /** A copy takes the place of a lost primary. */
  readonly isPromoting?: true;
  /** It moves to another node: nothing is started until it is there. */
  readonly isMoving?: true;
  /** Why its node cannot provide it, in words: nothing else could, since it is a folder of that machine. */
  readonly refusal?: string;
}

/** One quota of the tenant, and how much of it is used. */
export interface QuotaUse {
  readonly kind: string;
  readonly limit: number;
  readonly used: number;
  /** What one replica adds. */
  readonly asked: number;
}

/** What one replica requires of a node: the same for all replicas of a deployment. */
export interface Workload {
  readonly tenant: string;
  /** Whether the tenant is the platform's own. */
  readonly platform: boolean;
  /** The name of the deployment. */
  readonly deployment: string;
  /** Id of the only node that is accepted, when the deployment names one. */
  readonly namedNode?: string;
  /** Its name, for people. */
  readonly namedNodeName?: string;
  /** The networks that it joins: each exists on one node. */
  readonly networks: readonly NetworkPlace[];
  /** The volumes that it mounts: the bytes of each are on one node. */
  readonly volumes: readonly VolumePlace[];
  readonly residency?: ResidencyRule;
  readonly constraints: readonly LabelConstraint[];
  readonly antiAffinity: readonly AntiAffinityTerm[];
  /** The topology key that replicas are spread over first: `node`, or the key of a label. */
  readonly spreadOver: string;
  readonly requests: Partial<Amounts>;
  /** Host ports, each as `80/tcp`. */
  readonly hostPorts: readonly string[];
  /** What the engine of its node must be able to do, beyond running containers. */
  readonly needs?: readonly NodeFeature[];
  readonly quotas: readonly QuotaUse[];
}

const NONE: ReplicaCount = { all: 0, staying: 0 };

/** The replicas of the workload's own deployment on the node. */
export function countSiblings(node: Candidate, { deployment }: Pick<Workload, 'deployment'>): ReplicaCount {
  return node.replicasByDeployment.get(deployment) ?? NONE;
}

/** The workload as it was before its last replica was placed: that replica does not count against the quotas. */
export function removeLastReplica(workload: Workload): Workload {
  const quotas = workload.quotas.map(use =>
    // The deployment exists with or without the replica.
    use.kind === 'deployments' ? use : { ...use, used: use.used - use.asked },
  );
  return { ...workload, quotas };
}

/** The node with `count` more replicas of the workload; with fewer when it is negative. */
export function withReplicas(
  node: Candidate,
  workload: Pick<Workload, 'deployment' | 'requests' | 'hostPorts'>,
  count = 1,
): Candidate {
  const { deployment, requests, hostPorts } = workload;
  const { all, staying } = countSiblings(node, workload);
  const ports = new Set(node.heldPorts);
  for (const port of hostPorts) ports[count > 0 ? 'add' : 'delete'](port);
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

/** The topology domain of a node: its id, or the value of its label. Undefined when it has no such label. */
export function findDomain(node: Candidate, topologyKey: string): string | undefined {
  return topologyKey === 'node' ? node.id : node.labels[topologyKey];
}

/**
 * How many replicas are in which topology domain, and how many were placed in this pass. Each placed replica is added
 * before the next is placed, so that replicas spread and do not overbook.
 */
export class TopologyCounts {
  readonly #workload: Workload;
  /** For each term of `workload.antiAffinity`: replicas of its deployment, by domain. */
  readonly #avoided: readonly Map<string, number>[];
  readonly #siblings = new Map<string, number>();
  #placed = 0;

  /** `nodes` include all that hold a replica of the workload's deployment or of one in its anti-affinity terms. */
  constructor(workload: Workload, nodes: Iterable<Candidate>) {
    this.#workload = workload;
    this.#avoided = workload.antiAffinity.map(() => new Map());
    for (const node of nodes) {
      this.#count(node, name => node.replicasByDeployment.get(name)?.all ?? 0, countSiblings(node, workload).staying);
    }
  }

  /** Replicas placed in this pass. */
  get placed(): number {
    return this.#placed;
  }

  /** How many replicas of the deployment in `workload.antiAffinity[term]` are in a domain. */
  countAvoided(term: number, domain: string): number {
    return this.#avoided[term]?.get(domain) ?? 0;
  }

  /** How many of the workload's own replicas stay in the domain of the node that replicas are spread over. */
  countSiblingsNear(node: Candidate): number {
    return this.#siblings.get(this.#spreadDomain(node)) ?? 0;
  }

  /** Counts one more replica of the workload on this node. */
  add(node: Candidate): void {
    this.#placed += 1;
    this.#count(node, name => (name === this.#workload.deployment ? 1 : 0), 1);
  }

  #count(node: Candidate, countReplicas: (deployment: string) => number, siblings: number): void {
    for (const [term, { deployment, topologyKey }] of this.#workload.antiAffinity.entries()) {
      const domain = findDomain(node, topologyKey);
      if (domain !== undefined) increase(this.#avoided[term]!, domain, countReplicas(deployment));
    }
    increase(this.#siblings, this.#spreadDomain(node), siblings);
  }

  /** A node without the label is a domain of its own. The value of a label cannot contain a `/`. */
  #spreadDomain(node: Candidate): string {
    return findDomain(node, this.#workload.spreadOver) ?? `/${node.id}`;
  }
}

function increase(counts: Map<string, number>, domain: string, by: number): void {
  if (by > 0) counts.set(domain, (counts.get(domain) ?? 0) + by);
}
