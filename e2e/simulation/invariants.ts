import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import { type DeploymentStatus, listSteps, type StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { parseCpu } from '../../crds/grammar/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeNameRecord, NodeStatus, StoredNode } from '../../crds/node/index.js';
import { findReason } from '../../crds/reasons/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import type { StoredVolume } from '../../crds/volume/index.js';
import { value } from '../../pkg/store/index.js';
import { isTrueOf } from '../agreement/contradictions.js';
import type { History, Invariant, StoreChange } from './history.js';
import { keepsNetworks } from './networks.js';
import { keepsScaling } from './scaling.js';

/**
 * - a deployment's record goes only after its deletion was asked for
 * - a replica gets its node once, of its own tenant, and once retiring stays so; a slot is emptied before it is refilled
 * - a replica that has a node goes only when its agent has said that the container is gone, or when its node was lost or
 *   is no more
 */
const keepsSlots: Invariant = (changes, history) => {
  for (const change of changes) {
    if (change.key.startsWith(ranges.deployments)) noteDeployment(change);
    if (change.key.startsWith(ranges.replicas)) noteReplica(change, changes, history);
  }
};

function noteDeployment({ before, entry }: StoreChange): void {
  if (before && !entry) expect(value<StoredDeployment>(before).metadata.deletedAt, 'deleted unasked').to.be.a('string');
}

function noteReplica({ before, entry }: StoreChange, changes: readonly StoreChange[], history: History): void {
  const was = before && value<Replica>(before);
  const is = entry && value<Replica>(entry);
  if (is?.nodeId) expect(history.node(is.nodeId)?.metadata.tenant, 'placed across tenants').to.equal(is.tenant);
  if (was?.nodeId && !is) noteEmptied(was, changes, history);
  if (!was || !is) return;
  expect(is.uid, 'a slot was refilled before it was emptied').to.equal(was.uid);
  if (was.nodeId) expect(is.nodeId, 'a placed replica was moved').to.equal(was.nodeId);
  if (was.retiringSince) expect(is.retiringSince, 'a retiring replica was revived').to.equal(was.retiringSince);
}

function noteEmptied({ uid, tenant, nodeId = '' }: Replica, changes: readonly StoreChange[], history: History): void {
  const { name } = history.node(nodeId)!;
  const isGone = history.get<StoredNode>(keys.node(tenant, name))?.id !== nodeId;
  const isLost = history.get<NodeStatus>(keys.nodeStatus(tenant, name))?.lost !== undefined;
  if (isGone || isLost) return void history.givenUp.add(uid);
  const key = keys.report(tenant, nodeId, uid);
  const report = changes.find(change => change.key === key)?.before;
  expect(report && value<Report>(report).state, 'emptied unasked').to.equal('removed');
}

const NODE_NAMES = 'node-names/';
const MOST_CLAIMS = 2;

/** A machine is the node of one tenant at most, the one whose claim is the oldest, and no tenant claims it twice. */
const keepsClaims: Invariant = (changes, history) => {
  const touched = changes.filter(({ key }) => key.startsWith(ranges.nodes) || key.startsWith(NODE_NAMES));
  for (const name of new Set(touched.map(({ key }) => splitKey(key).at(-1)!))) {
    const { claims = [] } = history.get<NodeNameRecord>(keys.nodeName(name)) ?? {};
    const claimants = claims.map(({ tenant }) => tenant);
    expect(new Set(claimants).size, `${name} is claimed twice by one`).to.equal(claimants.length);
    expect(claimants.length, `claims to ${name}`).to.be.at.most(MOST_CLAIMS);
    const nodes = history.all<StoredNode>(ranges.nodes).filter(node => node.name === name);
    for (const { metadata } of nodes) {
      expect(metadata.tenant, `${name} is the node of one who has no claim to it`).to.equal(claimants[0]);
    }
    expect(nodes.length, `${name} is a node of several`).to.be.at.most(1);
  }
};

/** How much a tenant has, counted one by one. */
export function countAll(tenant: string, history: History): Readonly<Record<string, number>> {
  const of = (range: string) => history.entries(ranges.of(range, tenant));
  const placed = of(ranges.replicas)
    .map(entry => value<Replica>(entry))
    .filter(({ nodeId }) => nodeId !== undefined);
  const volumes = of(ranges.volumes).map(entry => value<StoredVolume>(entry));
  const cpu = placed.reduce((sum, { template }) => sum + (parseCpu(template.resources?.cpu ?? '') ?? 0), 0);
  return {
    containers: placed.length,
    cpu,
    deployments: of(ranges.deployments).length,
    nodes: of(ranges.nodes).length,
    secrets: of(ranges.secrets).length,
    volumes: volumes.length,
    volumeBytes: volumes.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

/** Nothing new comes that goes beyond what the tenant may have at that moment. */
const keepsQuotas: Invariant = (changes, history) => {
  for (const change of changes) {
    const [tenant = ''] = splitKey(change.key);
    const isNode = change.key.startsWith(ranges.nodes) && !change.before && change.entry;
    const kinds = isNode ? ['nodes'] : isPlaced(change) ? asked(change) : [];
    if (kinds.length === 0) continue;
    const quotas: Readonly<Record<string, number | null>> =
      history.get<StoredTenant>(keys.tenant(tenant))?.quotas ?? {};
    const has = countAll(tenant, history);
    for (const kind of kinds) {
      const limit = quotas[kind] ?? Infinity;
      expect(has[kind], `${kind} of ${tenant.slice(0, 1)}, which may have ${limit}`).to.be.at.most(limit);
    }
    const place = isNode ? 0 : olderDeployments(change.key, history);
    expect(place, 'placed for a deployment beyond the quota').to.be.lessThan(quotas['deployments'] ?? Infinity);
  }
};

/** Whether a replica was given its node. */
function isPlaced({ key, before, entry }: StoreChange): boolean {
  if (!key.startsWith(ranges.replicas) || !entry) return false;
  return value<Replica>(entry).nodeId !== undefined && !(before && value<Replica>(before).nodeId);
}

function asked({ entry }: StoreChange): readonly string[] {
  const { template } = value<Replica>(entry!);
  return template.resources?.cpu === undefined ? ['containers'] : ['containers', 'cpu'];
}

function olderDeployments(key: string, history: History): number {
  const [tenant = '', name = ''] = splitKey(key);
  const all = history.entries(ranges.of(ranges.deployments, tenant));
  const own = all.find(entry => entry.key === keys.deployment(tenant, name));
  return all.filter(({ created }) => created < (own?.created ?? 0)).length;
}

/** A status agrees with the events of its transaction, and gives only reasons that can be explained, in its steps too. */
const tellsOneStory: Invariant = (changes, history) => {
  for (const { key, entry } of changes) {
    if (!entry || !key.startsWith(ranges.statuses)) continue;
    const status = value<DeploymentStatus>(entry);
    const [tenant = '', name = ''] = splitKey(key);
    const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name));
    if (deployment?.metadata.uid !== status.uid || deployment.metadata.generation !== status.observedGeneration)
      continue;
    const events = changes.flatMap(change =>
      change.entry && change.key.startsWith(ranges.events) ? [value<StoredEvent>(change.entry)] : [],
    );
    const steps = listSteps(deployment, status);
    const untrue = events.find(({ type }) => !isTrueOf(type, status.phase));
    if (untrue) throw new Error(`event ${untrue.type} of ${name}, which is ${status.phase}`);
    const given = [...status.conditions, ...status.placements, ...steps, ...events];
    const unknown = given.find(({ reason }) => typeof reason === 'string' && !findReason(reason));
    if (unknown) throw new Error(`reason ${unknown.reason} of ${name} cannot be explained`);
  }
};

/** The revisions of a name are numbered without gaps, also across its deletion, and no number is used twice. */
const numbersRevisions: Invariant = (changes, history) => {
  for (const { key, before, entry } of changes) {
    if (!entry || before || !key.startsWith(ranges.archives)) continue;
    const [tenant = ''] = splitKey(key);
    const { revision, spec } = value<ArchivedRevision>(entry);
    const others = history
      .entries(ranges.of(ranges.archives, tenant))
      .filter(other => other.key !== key)
      .map(other => value<ArchivedRevision>(other))
      .filter(other => other.spec.name === spec.name);
    const last = Math.max(0, ...others.map(other => other.revision));
    expect(revision, `the number of a revision of ${spec.name}`).to.equal(last + 1);
  }
};

/** A backup and what it holds come together, and go together. */
const keepsBackups: Invariant = (changes, history) => {
  for (const { key } of changes) {
    if (!key.startsWith(ranges.backups) && !key.startsWith(ranges.backupContents)) continue;
    const [tenant = '', id = ''] = splitKey(key);
    const isWhole = !history.get(keys.backup(tenant, id)) === !history.get(keys.backupContent(tenant, id));
    expect(isWhole, `backup ${id} is whole or gone`).to.equal(true);
  }
};

/** What no transaction may break. */
export const invariants: readonly Invariant[] = [
  keepsSlots,
  keepsClaims,
  keepsQuotas,
  tellsOneStory,
  numbersRevisions,
  keepsBackups,
  keepsNetworks,
  keepsScaling,
];
