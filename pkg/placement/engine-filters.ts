import { describeFeatures } from '../../crds/node/index.js';
import type { Filter } from './filter.js';
import type { Candidate, NetworkPlace, VolumePlace, Workload } from './model.js';

/** Requires an engine that can do what the workload needs. */
export const capabilityFilter: Filter = {
  name: 'capability',
  accepts: (node, workload) => listLacks(node, workload).length === 0,
  describe: (node, workload) => [describeFeatures(listLacks(node, workload)), 'an engine that cannot do it'],
};

function listLacks({ lacks = [] }: Candidate, { needs = [] }: Workload): readonly string[] {
  return needs.filter(need => lacks.includes(need));
}

/** Keeps a workload on the node of the networks that it joins. */
export const networkFilter: Filter = {
  name: 'network',
  accepts: (node, { networks }) => networks.every(({ nodeId }) => nodeId === node.id),
  describe: (node, { networks }) => {
    const elsewhere = networks.filter(({ nodeId }) => nodeId !== node.id);
    const places = elsewhere.map(each => `network ${each.name}, which ${describePlace(each)}`);
    return [places.join('; '), node.name];
  },
};

function describePlace({ nodeId, node }: NetworkPlace): string {
  if (nodeId === undefined) return 'does not exist';
  return node === undefined ? `is on ${nodeId}, which is not enrolled` : `is on ${node}`;
}

/** Keeps a workload on the node that has the bytes of the volumes that it mounts. */
export const volumeFilter: Filter = {
  name: 'volume',
  accepts: (node, { volumes }) => volumes.every(each => isProvided(each, node)),
  describe: (node, { volumes }) => {
    const missing = volumes.filter(each => !isProvided(each, node));
    const places = missing.map(each => `volume ${each.name ?? each.id}, which ${describeVolumePlace(each)}`);
    const { refusal } = missing.find(({ nodeId }) => nodeId === node.id) ?? {};
    return [places.join('; '), refusal === undefined ? node.name : `${node.name}: ${refusal}`];
  },
};

const isProvided = ({ nodeId, refusal }: VolumePlace, { id }: Candidate) => nodeId === id && refusal === undefined;

function describeVolumePlace({ name, nodeId, node, isPromoting, isMoving }: VolumePlace): string {
  if (name === undefined) return 'does not exist';
  if (isMoving) return 'moves to another node';
  if (isPromoting) return 'is being promoted on another node';
  if (nodeId === undefined) return 'has no node yet';
  return node === undefined ? `is on ${nodeId}, which is not enrolled` : `is on ${node}`;
}
