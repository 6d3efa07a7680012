import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { type RotationRecord, readRotationState } from '../../crds/rotation/index.js';
import type { SimWorld } from '../../dev/simulation/index.js';
import { value } from '../../pkg/store/index.js';
import type { History } from './history.js';
import { type SimCluster, TENANTS } from './cluster.js';

const LABEL = 'safe-key';
const NAMESPACE = 'deployments';
const ROTATION = '/api/v1/deployments/{name}/secrets/rotation';
const ROTATE = '/api/v1/deployments/{name}/secrets/rotate';
const SECRET = '/api/v1/secrets/{namespace}/{resource}';
const CONSUMERS = ['safe', 'safe', 'web'] as const;
const PHASES = ['stage', 'promote', 'verify', 'retire', 'abort'] as const;

/** The one credential of each tenant, as deployments refer to it. */
export const CREDENTIAL = {
  name: 'KEY',
  vault_path: `${NAMESPACE}/${LABEL}`,
  anchor: 'process',
  rotation: 'restart',
} as const;

/** Another one, whose values come with the deployment that refers to it. */
export const bringCredential = ({ random }: SimWorld) =>
  ({
    name: 'OWN',
    vault_path: `${NAMESPACE}/own-key`,
    anchor: 'process',
    values: { password: random.uuid() },
  }) as const;

/** Where a credential of a tenant is stored. */
export const buildCredentialKey = (tenant: string, path: string = CREDENTIAL.vault_path) =>
  keys.secret(tenant, NAMESPACE, path.slice(NAMESPACE.length + 1));

/** Somebody rotates credentials, mostly in order, every few seconds until `until`; the secrets store goes away at times. */
export function useSecrets(cluster: SimCluster, until: number): void {
  const { world, vault } = cluster;
  for (const tenant of TENANTS) if (world.chance(0.8)) void writeMissing(cluster, tenant);
  const next = () => {
    if (world.time >= until) return;
    world.after(world.between(500, 3_000), 'a credential is used', () => {
      const tenant = world.pick(TENANTS);
      void (world.chance(0.1) ? writeMissing(cluster, tenant) : rotate(cluster, tenant, world.chance(0.1)));
      next();
    });
  };
  const lose = () => {
    if (world.time >= until) return;
    world.after(world.between(5_000, 30_000), 'the secrets store goes away', () => {
      vault.away = true;
      world.after(world.between(500, 8_000), 'the secrets store is back', () => (vault.away = false));
      lose();
    });
  };
  next();
  lose();
}

/** Writes the first version, unless there is one. */
export async function writeMissing(cluster: SimCluster, tenant: string): Promise<void> {
  const head = await cluster.server.get(buildCredentialKey(tenant));
  const { live = [], pin } = head ? value<{ readonly live: readonly number[]; readonly pin?: number }>(head) : {};
  if (live.length > 0 && pin !== 0) return;
  const params = { namespace: NAMESPACE, resource: LABEL };
  const document = { values: { password: cluster.world.random.uuid() } };
  await cluster.ask({ method: 'PUT', path: SECRET, tenant, params, document });
}

/** Takes the next step of a rotation, or some other one. */
export async function rotate(cluster: SimCluster, tenant: string, isRash = false): Promise<void> {
  const { world } = cluster;
  const params = { name: world.pick(CONSUMERS) };
  const shown = await cluster.ask({ method: 'GET', path: ROTATION, tenant, params });
  if (shown.told !== 'stored') return;
  const phase = isRash ? world.pick(PHASES) : shown.body['next'];
  const isBrought = phase === 'stage' && world.chance(0.4);
  const document = { phase, ...(isBrought && { values: { password: world.random.uuid() } }) };
  await cluster.ask({ method: 'POST', path: ROTATE, tenant, params, document });
}

/** Brings every rotation that is under way to its end, step by step. */
export async function endRotations(cluster: SimCluster): Promise<void> {
  cluster.vault.away = false;
  for (const tenant of TENANTS) {
    await writeMissing(cluster, tenant);
    for (const name of new Set(CONSUMERS)) {
      const shown = await cluster.ask({ method: 'GET', path: ROTATION, tenant, params: { name } });
      if (shown.told !== 'stored' || shown.body['phase'] === 'idle') continue;
      // What does not get staged now that all is well never will.
      const phase = shown.body['holds'] ? shown.body['next'] : 'abort';
      if (phase === 'abort' && shown.body['phase'] !== 'stage') continue;
      await cluster.ask({ method: 'POST', path: ROTATE, tenant, params: { name }, document: { phase } });
    }
  }
}

/** Throws unless every rotation that a deployment is part of has come to its end. */
export function expectRotated(history: History): void {
  const consumers = history.all<StoredDeployment>(ranges.deployments).filter(({ secrets }) => secrets?.length);
  for (const tenant of new Set(consumers.map(({ metadata }) => metadata.tenant))) {
    if (history.entries(ranges.of(ranges.nodes, tenant)).length === 0) continue; // nothing runs, nothing rolls
    const asked = history.get<RotationRecord>(keys.rotation(tenant, LABEL));
    const { state, waitsFor } = readRotationState(asked, history.get(keys.rotationProgress(tenant, LABEL)));
    expect(waitsFor, `a rotation at ${state} waits`).to.equal(undefined);
    expect(state, 'a rotation is under way').to.be.oneOf(['idle', 'retire']);
  }
}
