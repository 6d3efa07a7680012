import { refusal, type Refused } from './refusal.js';

/**
 * Nodes that refuse by the same filters with the same requirements, as an event stores them.
 *
 * Ten thousand nodes with a reason each would not fit into one value of etcd if each said all of it: what they have in
 * common is written once, and of each node only its name and what it reported.
 */
export interface RefusedGroup {
  readonly refusals: readonly { readonly filter: string; readonly required: string }[];
  /** Each a name, and what the node reported to each of the filters above, unless there was no room for it. */
  readonly nodes: readonly (readonly string[])[];
}

/** Writes down once what nodes have in common. Nothing is lost by it: `ungrouped` gives all of it back. */
export function grouped(refused: readonly Refused[]): readonly RefusedGroup[] {
  const groups = new Map<string, { readonly refusals: RefusedGroup['refusals']; readonly nodes: string[][] }>();
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
export function ungrouped(groups: readonly RefusedGroup[]): readonly Refused[] {
  return groups
    .flatMap(({ refusals, nodes }) =>
      nodes.map(([node = '', ...reported]) => ({
        node,
        reasons: refusals.map(({ filter, required }, position) =>
          refusal(filter, required, reported[position] ?? NOT_KEPT),
        ),
      })),
    )
    .sort((a, b) => (a.node < b.node ? -1 : 1));
}
