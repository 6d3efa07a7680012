/** Why one node may not host one replica, as data and in words an operator can act on. */
export interface Refusal {
  /** The filter that refused. */
  readonly filter: string;
  readonly required: string;
  readonly reported: string;
  readonly message: string;
}

/** One node that will not do, with every reason. */
export interface Refused {
  readonly node: string;
  readonly reasons: readonly Refusal[];
}

type Words = (required: string, reported: string) => string;

const requires: Words = (required, reported) => `requires ${required}, the node reports ${reported}`;

/** The words of the filters that say more than what is required and what is reported. */
const words: ReadonlyMap<string, Words> = new Map<string, Words>([
  ['tenant', () => 'the node belongs to another tenant'],
  ['ready', (_required, reported) => `the node is ${reported}`],
  ['control_plane', () => 'the control plane runs on this node, so it takes no new work but the platform’s'],
  ['named_node', required => `the deployment names the node ${required}`],
  ['anti_affinity', (required, reported) => `must be ${required}, and there is ${reported}`],
  ['port', (_required, reported) => `${reported} by another replica on the node`],
  ['resources', (required, reported) => `requires ${required}, the node has ${reported}`],
  ['quota', (required, reported) => `requires ${required}, the tenant has ${reported}`],
]);

/** A reason, its words included: they follow from the data, so that they need not be stored beside it. */
export function refusal(filter: string, required: string, reported: string): Refusal {
  return { filter, required, reported, message: (words.get(filter) ?? requires)(required, reported) };
}
