import { formatAmount, formatCount } from '../../crds/grammar/index.js';
import {
  checkResidency,
  nodeCountryLabel,
  nodeRegionLabel,
  type Regions,
  type Residency,
} from '../../crds/residency/index.js';
import { type FilterRejection, type RejectedNode, toFilterRejection } from '../../crds/scheduling/index.js';
import type { LabelConstraint } from '../../crds/workload/index.js';
import { capabilityFilter, networkFilter, volumeFilter } from './engine-filters.js';
import type { Filter } from './filter.js';
import {
  type Amounts,
  type Candidate,
  findDomain,
  type QuotaUse,
  type ResidencyRule,
  resourceKinds,
  type TopologyCounts,
  type Workload,
} from './model.js';

/** Keeps a workload on the nodes of its own tenant. */
const tenant: Filter = {
  name: 'tenant',
  accepts: (node, workload) => node.tenant === workload.tenant,
  describe: (_node, workload) => [workload.tenant, 'another tenant'],
};

/** Requires a node whose agent sends heartbeats, whose container engine answers, and that is not being drained. */
const ready: Filter = {
  name: 'ready',
  accepts: node => node.status === 'ready',
  describe: node => ['ready', node.status],
};

/** Reserves the control plane's own node for the platform. No field of a deployment overrides this. */
const controlPlane: Filter = {
  name: 'control_plane',
  accepts: (node, workload) => !node.controlPlane || workload.platform,
  describe: () => ['a node for tenants', 'the node of the control plane'],
};

/** Keeps a deployment that names a node on that node. */
const namedNode: Filter = {
  name: 'named_node',
  accepts: (node, workload) => workload.namedNode === undefined || workload.namedNode === node.id,
  describe: (node, { namedNode: id = '', namedNodeName = id }) => [namedNodeName, node.name],
};

type Labels = Candidate['labels'];

/** The rule of a residency that asks for something; undefined of any other. */
export function toResidencyRule(asked: Residency | undefined, regions: Regions): ResidencyRule | undefined {
  const { country, region, blockedCountries = [] } = asked ?? {};
  const isAsked = country !== undefined || region !== undefined || blockedCountries.length > 0;
  return asked && isAsked ? { asked, regions } : undefined;
}

/** Whether a node with these labels satisfies the residency. No node does where residency is not enforced. */
export function satisfiesResidency({ asked, regions }: ResidencyRule, labels: Labels): boolean {
  return regions.enforced && checkResidency(asked, labels, regions).length === 0;
}

/** Keeps a workload in the countries and regions where its data may be. */
const residency: Filter = {
  name: 'residency',
  accepts: (node, workload) => !workload.residency || satisfiesResidency(workload.residency, node.labels),
  describe: (node, workload) => (workload.residency ? describeResidency(workload.residency, node.labels) : ['', '']),
};

function describeResidency({ asked, regions }: ResidencyRule, labels: Labels): readonly [string, string] {
  if (!regions.enforced) return ['residency enforcement', 'switched off in the settings of the control plane'];
  const unmet = checkResidency(asked, labels, regions);
  const required = unmet.map(each => `${each.part === 'region' ? 'region' : 'country'} ${each.required}`);
  // A node without a region is judged by its country.
  const isByRegion = labels[nodeRegionLabel] !== undefined || labels[nodeCountryLabel] === undefined;
  const reported = unmet.map(each => `${each.part === 'region' && isByRegion ? 'region' : 'country'} ${each.reported}`);
  return [required.join('; '), [...new Set(reported)].join('; ')];
}

/** Requires the labels that the deployment declares as constraints. */
const labelConstraint: Filter = {
  name: 'label_constraint',
  accepts: (node, { constraints }) => constraints.every(each => isMet(each, node.labels)),
  describe: ({ labels }, { constraints }) => {
    const unmet = constraints.filter(each => !isMet(each, labels));
    const reported = [...new Set(unmet.map(({ key }) => key))].map(key =>
      labels[key] === undefined ? `no ${key}` : `${key}=${labels[key]}`,
    );
    return [unmet.map(formatConstraint).join('; '), reported.join('; ')];
  },
};

/** A missing label is in no list of values. */
function isMet({ key, operator, values = [] }: LabelConstraint, { [key]: value }: Labels): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isListed = value !== undefined && values.includes(value);
  return operator === 'In' ? isListed : !isListed;
}

function formatConstraint({ key, operator, values = [] }: LabelConstraint): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `no ${key}`;
  return `${key} ${operator === 'In' ? 'in' : 'not in'} ${values.join(', ')}`;
}

/**
 * Keeps replicas out of the topology domains of deployments that they must avoid: their own siblings, deployments that
 * theirs names, and deployments that name theirs. A replica counts until its record is deleted, because its container may
 * still exist.
 *
 * A node without the label of the topology key is rejected: it cannot be known to be in another domain.
 */
const antiAffinity: Filter = {
  name: 'anti_affinity',
  accepts: (node, workload, counts) =>
    workload.antiAffinity.length === 0 || findViolatedTerm(node, workload, counts) < 0,
  describe: (node, workload, counts) => {
    const term = findViolatedTerm(node, workload, counts);
    const { deployment, topologyKey } = workload.antiAffinity[term]!;
    const avoided = deployment === workload.deployment ? 'its other replicas' : deployment;
    const required = `apart from ${avoided} by ${topologyKey}`;
    const domain = findDomain(node, topologyKey);
    if (domain === undefined) return [required, `no ${topologyKey} on the node`];
    const where = topologyKey === 'node' ? 'on the node' : `in ${topologyKey}=${domain}`;
    return [required, `${counts.countAvoided(term, domain)} of them ${where}`];
  },
};

/** The position of the first anti-affinity term that the node violates; -1: none. */
function findViolatedTerm(node: Candidate, { antiAffinity: terms }: Workload, counts: TopologyCounts): number {
  return terms.findIndex(({ topologyKey, own }, term) => {
    const domain = findDomain(node, topologyKey);
    return domain === undefined ? own : counts.countAvoided(term, domain) > 0;
  });
}

const hasPortsFree = (node: Candidate, { hostPorts }: Workload) => hostPorts.every(each => !node.heldPorts.has(each));

/** Requires the host ports to be free: two containers of one machine cannot share a port. */
const port: Filter = {
  name: 'port',
  accepts: hasPortsFree,
  describe: (node, { hostPorts }) => {
    const taken = hostPorts.filter(each => node.heldPorts.has(each));
    return [hostPorts.join(', '), `${taken.join(', ')} taken`];
  },
};

const hasRoom = (node: Candidate, { requests: { cpu = 0, memory = 0 } }: Workload) =>
  cpu <= countFree(node, 'cpu') && memory <= countFree(node, 'memory');

/** Requires what the workload requests to be free after the requests of all replicas on the node. */
const resources: Filter = {
  name: 'resources',
  accepts: hasRoom,
  describe: (node, { requests }) => {
    const short = resourceKinds.filter(kind => (requests[kind] ?? 0) > countFree(node, kind));
    const required = short.map(kind => formatAmount(kind, requests[kind] ?? 0));
    const reported = short.map(kind => `${formatAmount(kind, countFree(node, kind))} free`);
    return [required.join(', '), reported.join(', ')];
  },
};

/** How much of a resource no replica on the node has requested. */
export function countFree({ capacity, used }: Candidate, kind: keyof Amounts): number {
  return Math.max(0, capacity[kind] - used[kind]);
}

/** Requires the tenant's quotas to allow one more replica. The answer is the same for every node. */
const quota: Filter = {
  name: 'quota',
  accepts: (_node, { quotas }, counts) => quotas.every(use => isWithin(use, counts)),
  describe: (_node, { quotas }, counts) => {
    const short = quotas.filter(use => !isWithin(use, counts));
    return [
      short.map(({ kind, limit }) => `at most ${formatAmount(kind, limit)}`).join(', '),
      short.map(({ kind, used, asked }) => formatAmount(kind, used + counts.placed * asked)).join(', '),
    ];
  },
};

function isWithin({ limit, used, asked }: QuotaUse, { placed }: TopologyCounts): boolean {
  return asked === 0 || used + (placed + 1) * asked <= limit;
}

/** Filters that read only the node itself. Their answer holds until the node changes. */
export const nodeFilters: readonly Filter[] = [
  tenant,
  ready,
  controlPlane,
  namedNode,
  residency,
  labelConstraint,
  capabilityFilter,
  volumeFilter,
  networkFilter,
];

/** Filters that read the load on the node and in its topology domain. */
export const loadFilters: readonly Filter[] = [antiAffinity, port, resources, quota];

/** Every filter. The order decides only in which order reasons are listed. */
export const filters: readonly Filter[] = [...nodeFilters, ...loadFilters];

/**
 * Whether other filters reject a node after a replica came or went than before. Of a replica that the workload's anti-affinity
 * does not concern: then only its ports and its requests can matter. Asked of each placement for whatever waits.
 */
export function isRejectedOtherwise(before: Candidate, after: Candidate, workload: Workload): boolean {
  return (
    hasRoom(before, workload) !== hasRoom(after, workload) ||
    hasPortsFree(before, workload) !== hasPortsFree(after, workload)
  );
}

/** Why the filter rejects the node. Undefined when it accepts it. */
export function checkFilter(
  filter: Filter,
  node: Candidate,
  workload: Workload,
  counts: TopologyCounts,
): FilterRejection | undefined {
  if (filter.accepts(node, workload, counts)) return undefined;
  return toFilterRejection(filter.name, ...filter.describe(node, workload, counts));
}

/** Every reason why the node cannot take the workload; none when it can. */
export function listRejections(
  node: Candidate,
  workload: Workload,
  counts: TopologyCounts,
): readonly FilterRejection[] {
  const reasons: FilterRejection[] = [];
  for (const filter of filters) {
    const reason = checkFilter(filter, node, workload, counts);
    if (reason) reasons.push(reason);
  }
  return reasons;
}

/** The nodes that cannot take the workload, each with every reason: no answer depends on the order of the filters. */
export function rejectNodes(
  nodes: Iterable<Candidate>,
  workload: Workload,
  counts: TopologyCounts,
): readonly RejectedNode[] {
  const rejected: RejectedNode[] = [];
  for (const node of nodes) {
    const reasons = listRejections(node, workload, counts);
    if (reasons.length > 0) rejected.push({ node: node.name, reasons });
  }
  return rejected;
}

/** Combinations of reasons that a summary names; the rest is counted. */
const NAMED_COMBINATIONS = 4;

/** The short form for a status message: `0 of 3 nodes: 2 resources, 1 not ready and residency`. Each node is counted once, under all of its reasons. */
export function summariseRejections(able: number, refused: readonly RejectedNode[]): string {
  if (able + refused.length === 0) return 'the tenant has no nodes';
  const nodes = `${able} of ${formatCount(able + refused.length, 'node')}`;
  if (refused.length === 0) return nodes;

  const counts = new Map<string, number>();
  for (const { reasons } of refused) {
    const combination = reasons.map(({ filter }) => (filter === 'ready' ? 'not ready' : filter)).join(' and ');
    counts.set(combination, (counts.get(combination) ?? 0) + 1);
  }
  const tally = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const named = tally.slice(0, NAMED_COMBINATIONS);
  const others = refused.length - named.reduce((sum, [, count]) => sum + count, 0);
  const words = named.map(([combination, count]) => `${count} ${combination}`);
  return `${nodes}: ${[...words, ...(others > 0 ? [`${others} for other reasons`] : [])].join(', ')}`;
}

/** Of a workload with a residency: whether no reachable node satisfies it, whatever else the nodes lack. */
export function isResidencyUnmet(refused: readonly RejectedNode[]): boolean {
  return refused.every(({ reasons }) =>
    reasons.some(({ filter, reported }) => filter === 'residency' || (filter === 'ready' && reported !== 'draining')),
  );
}
