import { isDnsLabel } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import { NODES_BY_ID } from '../../pkg/fleet/index.js';
import type { Cache, Entry } from '../../pkg/store/index.js';
import type { Call } from '../call.js';
import type { ApiEnv } from '../env.js';
import { Refused } from '../refusal.js';

/** The node of an id, whoever's it is. */
export function nodeById(cache: Cache, id: string): Entry | undefined {
  return cache.by(NODES_BY_ID, id)[0];
}

/** The tenant's node that `{id}` names, by its id or by its name, as it is stored now. */
export async function findNode({ cache }: ApiEnv, { tenant, params }: Call): Promise<Entry | Refused> {
  await cache.barrier();
  const asked = params['id']!;
  const named = isDnsLabel(asked) ? cache.get(keys.node(tenant, asked)) : nodeById(cache, asked);
  if (named?.key.startsWith(ranges.of(ranges.nodes, tenant))) return named;
  return new Refused(reject('resource_not_found', 'id', asked));
}
