import { keys } from '../../crds/keys/index.js';
import type { Guard } from '../../pkg/store/index.js';
import { quotasOf, type QuotaEnv } from './quota-warnings.js';
import { turnGuards } from './turns.js';

/** Whether a tenant may have one node more. */
export interface NodeRoom {
  /** The limit of a tenant that may not. */
  readonly reached: number | undefined;
  /** What a new node takes the turn of, so that many at once do not pass the quota. None where nothing is counted. */
  readonly turns: readonly string[];
  /** What holds a write to the count and the quota that this was judged by. */
  readonly guards: readonly Guard[];
}

/** The turns that new nodes of a tenant take. */
export function nodeTurns(env: QuotaEnv, tenant: string): readonly string[] {
  return quotasOf(env, tenant).nodes === undefined ? [] : [keys.turn(tenant, 'nodes')];
}

/** Judges by one revision of the cache: the count, the quota and the guards belong together. */
export function roomForNode(env: QuotaEnv, tenant: string): NodeRoom {
  const { nodes: limit } = quotasOf(env, tenant);
  const key = keys.tenant(tenant);
  const turns = nodeTurns(env, tenant);
  return {
    reached: limit === undefined || env.usage.of(tenant).nodes < limit ? undefined : limit,
    turns,
    guards: [...turnGuards(env.cache, turns), { key, at: env.cache.get(key)?.revision ?? 0 }],
  };
}
