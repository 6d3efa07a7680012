import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import type { Clock, Random } from '../../pkg/clock/index.js';
import { encode, type Entry, type Store, StoreUnavailableFault, value } from '../../pkg/store/index.js';

/** What a user asks for. `op` is written into the record, so that every write can be told from every other. */
export interface Ask {
  readonly op: string;
  readonly kind: 'create' | 'change' | 'delete';
  readonly tenant: string;
  readonly name: string;
  readonly spec: Pick<StoredDeployment, 'image' | 'replicas'> & {
    readonly hostPort?: number;
    readonly country?: string;
  };
}

/** What the user is told: stored, not stored, or that nobody can say. */
export type Told = 'stored' | 'refused' | 'unknown';

export interface ApiEnv {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The few lines of the API server that matter to the loops: it writes the same records, under the same guards, and
 * says only what it knows.
 */
export async function ask(env: ApiEnv, wish: Ask): Promise<Told> {
  try {
    const key = keys.deployment(wish.tenant, wish.name);
    const held = await env.store.get(key);
    const next = decide(env, wish, held);
    if (!next) return 'refused';
    const verdict = await env.store.commit({
      guards: [{ key, at: held?.revision ?? 0 }],
      puts: [{ key, bytes: encode(next) }],
      deletes: [],
    });
    return verdict.stored ? 'stored' : 'refused';
  } catch (thrown) {
    return thrown instanceof StoreUnavailableFault ? 'refused' : 'unknown';
  }
}

function decide(
  env: ApiEnv,
  { op, kind, tenant, name, spec }: Ask,
  held: Entry | undefined,
): StoredDeployment | undefined {
  const now = new Date(env.clock.now()).toISOString();
  const before = held && value<StoredDeployment>(held);
  if (kind === 'create') {
    if (before) return undefined;
    const uid = `dep_${env.random.uuid()}`;
    const metadata = { tenant, uid, generation: 1, createdAt: now, updatedAt: now, specHash: op };
    return { metadata, kind: 'Deployment', name, secretsVersion: 0, ...specOf(spec), labels: { op } };
  }
  if (!before || before.metadata.deletedAt) return undefined;

  const metadata = { ...before.metadata, generation: before.metadata.generation + 1, updatedAt: now };
  if (kind === 'delete') return { ...before, metadata: { ...metadata, deletedAt: now }, labels: { op } };
  return { metadata, kind: 'Deployment', name, secretsVersion: 0, ...specOf(spec), labels: { op } };
}

function specOf({ image, replicas, hostPort, country }: Ask['spec']) {
  return {
    image,
    replicas,
    ...(hostPort !== undefined && { ports: [{ containerPort: 80, hostPort, protocol: 'tcp' as const }] }),
    ...(country !== undefined && { placement: { residency: { country } } }),
  };
}
