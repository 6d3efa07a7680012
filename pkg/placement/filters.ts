import { checkResidency } from '../../crds/residency/index.js';
import type { LabelConstraint } from '../../crds/workload/index.js';
import { formatAmount } from '../../crds/grammar/index.js';
import type { Filter } from './feasibility.js';
import {
  type Amounts,
  type AntiAffinityTerm,
  type Candidate,
  type QuotaUse,
  type ResidencyRule,
  resourceKinds,
  type Workload,
} from './model.js';
import { findDomain, type TopologyCounts } from './topology.js';

/** Keeps a workload on the nodes of its own tenant. */
const tenant: Filter = {
  name: 'tenant',
  accepts: (node, workload) => node.tenant === workload.tenant,
  describe: (_node, workload) => [workload.tenant, 'another tenant'],
};

/** Wants a node whose agent is heard and that is not being emptied. */
const ready: Filter = {
  name: 'ready',
  accepts: node => node.status === 'ready',
  describe: node => ['ready', node.status],
};

/** Keeps the node that the control plane runs on for the platform. Nothing on a deployment overrides this. */
const controlPlane: Filter = {
  name: 'control_plane',
  accepts: (node, workload) => !node.controlPlane || workload.platform,
  describe: () => ['a node for tenants', 'the node of the control plane'],
};

/** Keeps a deployment that names a node on that node. */
const namedNode: Filter = {
  name: 'named_node',
  accepts: (node, workload) => workload.namedNode === undefined || workload.namedNode === node.id,
  describe: (node, workload) => [workload.namedNode ?? '', node.id],
};

type Labels = Readonly<Record<string, string>>;

/**
 * Whether a node with these labels keeps a residency.
 *
 * A control plane that does not enforce residency cannot keep it anywhere: what asks for it waits.
 */
export function satisfiesResidency({ asked, regions }: ResidencyRule, labels: Labels): boolean {
  return regions.enforced && checkResidency(asked, labels, regions).length === 0;
}

/** Keeps a workload where its data may be. */
const residency: Filter = {
  name: 'residency',
  accepts: (node, workload) => !workload.residency || satisfiesResidency(workload.residency, node.labels),
  describe: (node, workload) => (workload.residency ? wordsOf(workload.residency, node.labels) : ['', '']),
};

const shown = { country: 'country', region: 'region', blockedCountries: 'country' } as const;

function wordsOf({ asked, regions }: ResidencyRule, labels: Labels): readonly [string, string] {
  if (!regions.enforced) return ['residency to be enforced', 'a control plane that does not'];
  const unmet = checkResidency(asked, labels, regions);
  const say = (which: 'required' | 'reported') => unmet.map(each => `${shown[each.part]} ${each[which]}`).join('; ');
  return [say('required'), say('reported')];
}

/** Wants the labels that the deployment asks for. */
const labelConstraint: Filter = {
  name: 'label_constraint',
  accepts: (node, { constraints }) => constraints.every(each => isMet(each, node.labels[each.key])),
  describe: (node, { constraints }) => {
    const unmet = constraints.filter(each => !isMet(each, node.labels[each.key]));
    const reported = [...new Set(unmet.map(({ key }) => key))].map(key =>
      node.labels[key] === undefined ? `no ${key}` : `${key}=${node.labels[key]}`,
    );
    return [unmet.map(asked).join('; '), reported.join('; ')];
  },
};

/** A label that is not there is not in any list. */
function isMet({ operator, values = [] }: LabelConstraint, value: string | undefined): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const listed = value !== undefined && values.includes(value);
  return operator === 'In' ? listed : !listed;
}

function asked({ key, operator, values = [] }: LabelConstraint): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `no ${key}`;
  return `${key} ${operator === 'In' ? 'in' : 'not in'} ${values.join(', ')}`;
}

/**
 * Keeps apart what may not meet in one place: the deployment's own replicas, other deployments that it names, and those
 * that name it. A replica counts until its record is gone, because its container may still be there.
 *
 * A node that does not say in which place it is cannot be known to be apart, so it is refused.
 */
const antiAffinity: Filter = {
  name: 'anti_affinity',
  accepts: (node, workload, around) => workload.antiAffinity.length === 0 || firstMet(node, workload, around) < 0,
  describe: (node, workload, around) => {
    const position = firstMet(node, workload, around);
    const apart = workload.antiAffinity[position]!;
    return [wish(apart, workload), found(node, apart, position, around)];
  },
};

/** Which of those that the workload must be apart from is in the node's place; -1: none. */
function firstMet(node: Candidate, { antiAffinity: terms }: Workload, around: TopologyCounts): number {
  return terms.findIndex(({ topologyKey, own }, position) => {
    const place = findDomain(node, topologyKey);
    return place === undefined ? own : around.othersIn(position, place) > 0;
  });
}

function wish({ deployment, topologyKey }: AntiAffinityTerm, workload: Workload): string {
  const whom = deployment === workload.deployment ? 'its other replicas' : deployment;
  return `apart from ${whom} by ${topologyKey}`;
}

function found(node: Candidate, { topologyKey }: AntiAffinityTerm, position: number, around: TopologyCounts): string {
  const place = findDomain(node, topologyKey);
  if (place === undefined) return `no ${topologyKey} on the node`;
  const where = topologyKey === 'node' ? 'on the node' : `in ${topologyKey}=${place}`;
  return `${around.othersIn(position, place)} of them ${where}`;
}

/** Wants the asked host ports free: two containers of one machine cannot both have one. */
const port: Filter = {
  name: 'port',
  accepts: (node, { hostPorts }) => hostPorts.every(asked => !node.heldPorts.has(asked)),
  describe: (node, { hostPorts }) => {
    const taken = hostPorts.filter(asked => node.heldPorts.has(asked));
    return [hostPorts.join(', '), `${taken.join(', ')} taken`];
  },
};

/** Wants what the workload requests to be left over by the requests of what is on the node already. */
const resources: Filter = {
  name: 'resources',
  accepts: (node, { requests: { cpu = 0, memory = 0 } }) => cpu <= free(node, 'cpu') && memory <= free(node, 'memory'),
  describe: (node, { requests }) => {
    const short = resourceKinds.filter(kind => (requests[kind] ?? 0) > free(node, kind));
    const required = short.map(kind => formatAmount(kind, requests[kind] ?? 0));
    const reported = short.map(kind => `${formatAmount(kind, free(node, kind))} free`);
    return [required.join(', '), reported.join(', ')];
  },
};

function free({ capacity, used }: Candidate, kind: keyof Amounts): number {
  return Math.max(0, capacity[kind] - used[kind]);
}

/** Wants the tenant's quotas to allow one replica more. It is the same for every node. */
const quota: Filter = {
  name: 'quota',
  accepts: (_node, { quotas }, around) => quotas.every(use => isKept(use, around)),
  describe: (_node, { quotas }, around) => {
    const short = quotas.filter(use => !isKept(use, around));
    return [
      short.map(({ kind, limit }) => `at most ${formatAmount(kind, limit)}`).join(', '),
      short.map(({ kind, used, asked }) => formatAmount(kind, used + around.placed * asked)).join(', '),
    ];
  },
};

function isKept({ limit, used, asked }: QuotaUse, { placed }: TopologyCounts): boolean {
  return asked === 0 || used + (placed + 1) * asked <= limit;
}

/** Filters that look at what a node is. Their answer holds until the node itself changes. */
export const nodeFilters: readonly Filter[] = [tenant, ready, controlPlane, namedNode, residency, labelConstraint];

/** Filters that look at what is on a node and around it. */
export const loadFilters: readonly Filter[] = [antiAffinity, port, resources, quota];

/** Every filter there is. The order shows only in how reasons are listed. */
export const filters: readonly Filter[] = [...nodeFilters, ...loadFilters];
