/**
 * Where everything is stored. The one place that builds a key.
 *
 * Every segment is checked before it becomes part of a key, so that no name can reach into another
 * tenant's range; every range ends in `/`, so that `t1` never matches `t10`.
 *
 * @module
 */
import { segment } from './segment.js';

export { BrokenSegmentError } from './segment.js';

/** A deployment, named without its kind. Also what the queues of most loops carry, as `<tenant>/<name>`. */
export interface Named {
  readonly tenant: string;
  readonly name: string;
}

export const keys = {
  tenant: (id: string) => `tenants/${segment(id)}`,
  token: (id: string) => `tokens/${segment(id)}`,
  deployment: (tenant: string, name: string) => `deployments/${segment(tenant)}/${segment(name)}`,
  archive: (tenant: string, uid: string, revision: number) =>
    `archives/${segment(tenant)}/${segment(uid)}/${String(revision).padStart(10, '0')}`,
  status: (tenant: string, name: string) => `status/${segment(tenant)}/${segment(name)}`,
  scheduling: (tenant: string, name: string) => `scheduling/${segment(tenant)}/${segment(name)}`,
  portTurn: (tenant: string, nodeId: string) => `port-turns/${segment(tenant)}/${segment(nodeId)}`,
  replica: (tenant: string, deployment: string, slot: number) =>
    `replicas/${segment(tenant)}/${segment(deployment)}/${slot}`,
  report: (tenant: string, nodeId: string, replica: string) =>
    `reports/${segment(tenant)}/${segment(nodeId)}/${segment(replica)}`,
  node: (tenant: string, name: string) => `nodes/${segment(tenant)}/${segment(name)}`,
  nodeStatus: (tenant: string, name: string) => `node-status/${segment(tenant)}/${segment(name)}`,
  nodeGrace: (tenant: string, name: string) => `node-grace/${segment(tenant)}/${segment(name)}`,
  nodeName: (name: string) => `node-names/${segment(name)}`,
  alive: (tenant: string, name: string) => `alive/${segment(tenant)}/${segment(name)}`,
  event: (tenant: string, id: string) => `events/${segment(tenant)}/${segment(id)}`,
  logRequest: (tenant: string, nodeId: string, id: string) =>
    `log-requests/${segment(tenant)}/${segment(nodeId)}/${segment(id)}`,
  secret: (tenant: string, namespace: string, label: string) =>
    `secrets/${segment(tenant)}/${segment(namespace)}/${segment(label)}`,
  secretVersion: (tenant: string, namespace: string, label: string, version: number) =>
    `secret-versions/${segment(tenant)}/${segment(namespace)}/${segment(label)}/${String(version).padStart(10, '0')}`,
  /** Which keys the secrets of the embedded driver are sealed with, by name. */
  secretKeyring: () => 'keyrings/secrets',
  /** Secret material on its way into the secrets store, in step with a record. */
  intent: (tenant: string, id: string) => `intents/${segment(tenant)}/${segment(id)}`,
  /** Taken by every write that was judged by what others say of a subject, so that no two are judged by the same. */
  turn: (tenant: string, subject: string) => `turns/${segment(tenant)}/${segment(subject)}`,
  volume: (tenant: string, id: string) => `volumes/${segment(tenant)}/${segment(id)}`,
  volumeStatus: (tenant: string, id: string) => `volume-status/${segment(tenant)}/${segment(id)}`,
  network: (tenant: string, name: string) => `networks/${segment(tenant)}/${segment(name)}`,
  unresolved: (tenant: string, deployment: string) => `unresolved/${segment(tenant)}/${segment(deployment)}`,
  delivery: (tenant: string, deployment: string, replica: string) =>
    `deliveries/${segment(tenant)}/${segment(deployment)}/${segment(replica)}`,
  rotation: (tenant: string, label: string) => `rotations/${segment(tenant)}/${segment(label)}`,
  rotationProgress: (tenant: string, label: string) => `rotation-progress/${segment(tenant)}/${segment(label)}`,
  leader: (loop: string) => `leaders/${segment(loop)}`,
} as const;

/** Ranges that are listed or indexed. */
export const ranges = {
  tenants: 'tenants/',
  tokens: 'tokens/',
  deployments: 'deployments/',
  statuses: 'status/',
  schedulings: 'scheduling/',
  replicas: 'replicas/',
  reports: 'reports/',
  nodes: 'nodes/',
  nodeStatuses: 'node-status/',
  nodeGraces: 'node-grace/',
  alive: 'alive/',
  events: 'events/',
  archives: 'archives/',
  logRequests: 'log-requests/',
  secrets: 'secrets/',
  secretVersions: 'secret-versions/',
  intents: 'intents/',
  volumes: 'volumes/',
  volumeStatuses: 'volume-status/',
  networks: 'networks/',
  unresolved: 'unresolved/',
  deliveries: 'deliveries/',
  rotations: 'rotations/',
  rotationProgress: 'rotation-progress/',
  leaders: 'leaders/',
  of: (range: string, tenant: string) => `${range}${segment(tenant)}/`,
  replicasOf: (tenant: string, deployment: string) => `replicas/${segment(tenant)}/${segment(deployment)}/`,
  deliveriesOf: (tenant: string, deployment: string) => `deliveries/${segment(tenant)}/${segment(deployment)}/`,
} as const;

/** The segments after the kind: `deployments/t/web` → `['t', 'web']`. */
export function segmentsOf(key: string): string[] {
  return key.split('/').slice(1);
}
