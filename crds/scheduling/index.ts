/**
 * Why a deployment has replicas without a node, at `scheduling/<tenant>/<deployment>`.
 *
 * Written by the scheduler, and present only while replicas wait: the status shows its summary, the event that it names
 * carries every reason of every node, grouped by common reasons, as far as they fit into one etcd value.
 *
 *     const reason = toFilterRejection('ready', 'ready', 'failed');
 *     const everyNode = ungroupRejections(event.data.groups);
 *
 * The filters themselves are in `pkg/placement`.
 *
 * @module
 */
import { describeSilentEngine, type Reason } from '../reasons/index.js';

/** `scheduling/<tenant>/<deployment>`. */
export interface SchedulingReport {
  /** Of the deployment. */
  readonly uid: string;
  /** Replicas that wait for a node. */
  readonly unplaced: number;
  /** `0 of 3 nodes: 2 resources, 1 not ready`. */
  readonly summary: string;
  /** The filters that reject a node now, or have since the event: other changes cannot help. */
  readonly filters: readonly Reason[];
  /** The filters that reject a node now; those that have no node at all have none. */
  readonly refusing: readonly Reason[];
  /** No node that can be reached satisfies the residency that the deployment asks for. */
  readonly residencyUnmet: boolean;
  /** Hash of which filters of which nodes refuse what, as the event has it: another cause is another event. */
  readonly cause: string;
  /** Hash of every reason in full, and of how many replicas wait, as the event has them. */
  readonly details: string;
  /** Id of the event about the cause. Left out when the store refused it. */
  readonly event?: string;
  readonly lastSeenAt: string;
}

/** Why one node may not host one replica, as data and in words an operator can act on. */
export interface FilterRejection {
  /** The filter that rejected the node. */
  readonly filter: Reason;
  readonly required: string;
  readonly reported: string;
  readonly message: string;
}

/** One rejected node, with every reason. */
export interface RejectedNode {
  readonly node: string;
  readonly reasons: readonly FilterRejection[];
}

type Words = (required: string, reported: string) => string;

const requires: Words = (required, reported) => `requires ${required}, the node reports ${reported}`;

function describeUnready(reported: string): string {
  if (reported === 'unusable')
    return 'the record of the node cannot be worked with: delete the node and enrol it again';
  if (reported !== 'unready') return `the node is ${reported}`;
  return describeSilentEngine('the container engine of the node');
}

/** The words of the filters that say more than what is required and what is reported. */
const words: ReadonlyMap<Reason, Words> = new Map<Reason, Words>([
  ['tenant', () => 'the node belongs to another tenant'],
  ['ready', (_required, reported) => describeUnready(reported)],
  ['control_plane', () => 'the control plane runs on this node, so it takes no new work but the platform’s'],
  ['named_node', required => `the deployment names the node ${required}`],
  ['anti_affinity', (required, reported) => `must be ${required}: ${reported}`],
  ['network', required => `the deployment joins ${required}`],
  ['port', (_required, reported) => `${reported} by another replica on the node`],
  ['resources', (required, reported) => `requires ${required}, the node has ${reported}`],
  ['quota', (required, reported) => `requires ${required}, the tenant has ${reported}`],
]);

/** A reason, its words included: they follow from the data, so that they need not be stored beside it. */
export function toFilterRejection(filter: Reason, required: string, reported: string): FilterRejection {
  return { filter, required, reported, message: (words.get(filter) ?? requires)(required, reported) };
}

/**
 * Nodes that refuse by the same filters with the same requirements, as an event stores them.
 *
 * Ten thousand nodes with a reason each would not fit into one value of etcd if each said all of it: what they have in
 * common is written once, and of each node only its name and what it reported.
 */
export interface RejectionGroup {
  readonly refusals: readonly { readonly filter: Reason; readonly required: string }[];
  /** Each a name, and what the node reported to each of the filters above, unless there was no room for it. */
  readonly nodes: readonly (readonly string[])[];
}

/** Writes down once what nodes have in common. Nothing is lost by it: `ungroupRejections` gives all of it back. */
export function groupRejections(refused: readonly RejectedNode[]): readonly RejectionGroup[] {
  const groups = new Map<string, { readonly refusals: RejectionGroup['refusals']; readonly nodes: string[][] }>();
  for (const { node, reasons } of refused) {
    const key = reasons.map(({ filter, required }) => `${filter}\n${required}`).join('\n');
    let group = groups.get(key);
    if (!group) {
      group = { refusals: reasons.map(({ filter, required }) => ({ filter, required })), nodes: [] };
      groups.set(key, group);
    }
    group.nodes.push([node, ...reasons.map(({ reported }) => reported)]);
  }
  return [...groups.values()];
}

/** Stands for what a node reported where there was no room for it. */
const NOT_KEPT = '(left out)';

/** Every node with every reason, by name. */
export function ungroupRejections(groups: readonly RejectionGroup[]): readonly RejectedNode[] {
  return groups
    .flatMap(({ refusals, nodes }) =>
      nodes.map(([node = '', ...reported]) => ({
        node,
        reasons: refusals.map(({ filter, required }, position) =>
          toFilterRejection(filter, required, reported[position] ?? NOT_KEPT),
        ),
      })),
    )
    .sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** What an event has no room for. All of it is in the live explanation. */
export interface OmittedDetails {
  /** What each node reported. */
  readonly reported: true;
  /** How many nodes are not named. */
  readonly nodes: number;
}

/** Groups of which so much is kept as may be stored. */
export interface AbridgedGroups {
  readonly groups: readonly RejectionGroup[];
  /** Only where something is. */
  readonly leftOut?: OmittedDetails;
}

/**
 * The groups in at most so many bytes of JSON. What nodes reported goes first, and only when their names alone are too
 * much are the last of them merely counted.
 */
export function abridgeGroups(groups: readonly RejectionGroup[], bytes: number): AbridgedGroups {
  if (measureJson(groups) <= bytes) return { groups };

  const kept: RejectionGroup[] = [];
  let left = bytes - measureJson([]);
  let unnamed = 0;
  for (const { refusals, nodes } of groups) {
    left -= measureJson({ refusals, nodes: [] }) + COMMA;
    const named: string[][] = [];
    for (const [name = ''] of nodes) {
      left -= measureJson([name]) + COMMA;
      if (left >= 0) named.push([name]);
    }
    if (named.length > 0) kept.push({ refusals, nodes: named });
    unnamed += nodes.length - named.length;
  }
  return { groups: kept, leftOut: { reported: true, nodes: unnamed } };
}

const COMMA = 1;

function measureJson(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
export type { CandidateView, Holder } from './view.js';
