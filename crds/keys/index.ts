/**
 * Where everything is stored. The one place that builds a key; the ranges of kinds are those of their descriptors.
 *
 * Every segment is checked before it becomes part of a key, so that no name can reach into another
 * tenant's range; every range ends in `/`, so that `t1` never matches `t10`.
 *
 * @module
 */
import { archiveKind } from '../backup/index.js';
import { deploymentKind } from '../deployment/index.js';
import { eventKind } from '../event/index.js';
import { networkKind } from '../network/index.js';
import { nodeKind } from '../node/index.js';
import { rotationKind } from '../rotation/index.js';
import { secretKind } from '../secret/index.js';
import { tenantKind, tokenKind } from '../tenant/index.js';
import { volumeKind } from '../volume/index.js';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** A name reached the key layer unchecked. The rules above it should have refused it. */
export class InvalidSegmentError extends Error {
  constructor() {
    super('a name that cannot be part of a key reached the store');
    this.name = 'BrokenSegmentError';
  }
}

/** Passes a name that can be one part of a key, and nothing else. */
function checkSegment(name: string): string {
  if (!SEGMENT.test(name)) throw new InvalidSegmentError();
  return name;
}

/** A deployment, named without its kind. Also what the queues of most loops carry, as `<tenant>/<name>`. */
export interface ObjectName {
  readonly tenant: string;
  readonly name: string;
}

export const keys = {
  /** An object of a kind whose keys are tenant and name. */
  object: (range: string, tenant: string, name: string) => `${range}${checkSegment(tenant)}/${checkSegment(name)}`,
  tenant: (id: string) => `${tenantKind.range}${checkSegment(id)}`,
  token: (id: string) => `${tokenKind.range}${checkSegment(id)}`,
  deployment: (tenant: string, name: string) => `${deploymentKind.range}${checkSegment(tenant)}/${checkSegment(name)}`,
  archive: (tenant: string, uid: string, revision: number) =>
    `${archiveKind.range}${checkSegment(tenant)}/${checkSegment(uid)}/${String(revision).padStart(10, '0')}`,
  status: (tenant: string, name: string) =>
    `${deploymentKind.statusRange}${checkSegment(tenant)}/${checkSegment(name)}`,
  scheduling: (tenant: string, name: string) => `scheduling/${checkSegment(tenant)}/${checkSegment(name)}`,
  portTurn: (tenant: string, nodeId: string) => `port-turns/${checkSegment(tenant)}/${checkSegment(nodeId)}`,
  replica: (tenant: string, deployment: string, slot: number) =>
    `replicas/${checkSegment(tenant)}/${checkSegment(deployment)}/${slot}`,
  report: (tenant: string, nodeId: string, replica: string) =>
    `reports/${checkSegment(tenant)}/${checkSegment(nodeId)}/${checkSegment(replica)}`,
  node: (tenant: string, name: string) => `${nodeKind.range}${checkSegment(tenant)}/${checkSegment(name)}`,
  nodeStatus: (tenant: string, name: string) => `${nodeKind.statusRange}${checkSegment(tenant)}/${checkSegment(name)}`,
  nodeGrace: (tenant: string, name: string) => `node-grace/${checkSegment(tenant)}/${checkSegment(name)}`,
  nodeName: (name: string) => `node-names/${checkSegment(name)}`,
  alive: (tenant: string, name: string) => `alive/${checkSegment(tenant)}/${checkSegment(name)}`,
  event: (tenant: string, id: string) => `${eventKind.range}${checkSegment(tenant)}/${checkSegment(id)}`,
  logRequest: (tenant: string, nodeId: string, id: string) =>
    `log-requests/${checkSegment(tenant)}/${checkSegment(nodeId)}/${checkSegment(id)}`,
  secret: (tenant: string, namespace: string, label: string) =>
    `${secretKind.range}${checkSegment(tenant)}/${checkSegment(namespace)}/${checkSegment(label)}`,
  secretVersion: (tenant: string, namespace: string, label: string, version: number) =>
    `secret-versions/${checkSegment(tenant)}/${checkSegment(namespace)}/${checkSegment(label)}/${String(version).padStart(10, '0')}`,
  /** Which keys the secrets of the embedded driver are sealed with, by name. */
  secretKeyring: () => 'keyrings/secrets',
  /** Secret material on its way into the secrets store, in step with a record. */
  intent: (tenant: string, id: string) => `intents/${checkSegment(tenant)}/${checkSegment(id)}`,
  /** Taken by every write that was judged by what others say of a subject, so that no two are judged by the same. */
  turn: (tenant: string, subject: string) => `turns/${checkSegment(tenant)}/${checkSegment(subject)}`,
  volume: (tenant: string, id: string) => `${volumeKind.range}${checkSegment(tenant)}/${checkSegment(id)}`,
  volumeStatus: (tenant: string, id: string) => `${volumeKind.statusRange}${checkSegment(tenant)}/${checkSegment(id)}`,
  network: (tenant: string, name: string) => `${networkKind.range}${checkSegment(tenant)}/${checkSegment(name)}`,
  unresolved: (tenant: string, deployment: string) => `unresolved/${checkSegment(tenant)}/${checkSegment(deployment)}`,
  delivery: (tenant: string, deployment: string, replica: string) =>
    `deliveries/${checkSegment(tenant)}/${checkSegment(deployment)}/${checkSegment(replica)}`,
  rotation: (tenant: string, label: string) => `${rotationKind.range}${checkSegment(tenant)}/${checkSegment(label)}`,
  rotationProgress: (tenant: string, label: string) =>
    `${rotationKind.statusRange}${checkSegment(tenant)}/${checkSegment(label)}`,
  leader: (loop: string) => `leaders/${checkSegment(loop)}`,
  /** Written by a read barrier to make the watch deliver something. */
  barrier: () => 'barrier',
  /** Put to close an epoch of a writer: batches that carry its id are not made any more. */
  epoch: (id: string) => `epochs/${checkSegment(id)}`,
} as const;

/** Ranges that are listed or indexed. */
export const ranges = {
  tenants: tenantKind.range,
  tokens: tokenKind.range,
  deployments: deploymentKind.range,
  statuses: deploymentKind.statusRange,
  schedulings: 'scheduling/',
  replicas: 'replicas/',
  reports: 'reports/',
  nodes: nodeKind.range,
  nodeStatuses: nodeKind.statusRange,
  nodeGraces: 'node-grace/',
  alive: 'alive/',
  events: eventKind.range,
  archives: archiveKind.range,
  logRequests: 'log-requests/',
  secrets: secretKind.range,
  secretVersions: 'secret-versions/',
  intents: 'intents/',
  volumes: volumeKind.range,
  volumeStatuses: volumeKind.statusRange,
  networks: networkKind.range,
  unresolved: 'unresolved/',
  deliveries: 'deliveries/',
  rotations: rotationKind.range,
  rotationProgress: rotationKind.statusRange,
  leaders: 'leaders/',
  of: (range: string, tenant: string) => `${range}${checkSegment(tenant)}/`,
  replicasOf: (tenant: string, deployment: string) => `replicas/${checkSegment(tenant)}/${checkSegment(deployment)}/`,
  logRequestsOf: (tenant: string, nodeId: string) => `log-requests/${checkSegment(tenant)}/${checkSegment(nodeId)}/`,
  deliveriesOf: (tenant: string, deployment: string) =>
    `deliveries/${checkSegment(tenant)}/${checkSegment(deployment)}/`,
} as const;

/** The segments after the kind: `deployments/t/web` → `['t', 'web']`. */
export function splitKey(key: string): string[] {
  return key.split('/').slice(1);
}
