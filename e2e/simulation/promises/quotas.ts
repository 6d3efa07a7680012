import { expect } from 'chai';

import { parseCpu } from '../../../crds/grammar/index.js';
import { keys, ranges, splitKey } from '../../../crds/keys/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import type { StoredTenant } from '../../../crds/tenant/index.js';
import { value } from '../../../pkg/store/index.js';
import type { History, StoreChange, Invariant } from '../history.js';

/** How much a tenant has, counted one by one. */
export function countAll(tenant: string, chronicle: History): Readonly<Record<string, number>> {
  const of = (range: string) => chronicle.entries(ranges.of(range, tenant));
  const placed = of(ranges.replicas)
    .map(entry => value<Replica>(entry))
    .filter(({ nodeId }) => nodeId !== undefined);
  const cpu = placed.reduce((sum, { template }) => sum + (parseCpu(template.resources?.cpu ?? '') ?? 0), 0);
  return {
    containers: placed.length,
    cpu,
    deployments: of(ranges.deployments).length,
    nodes: of(ranges.nodes).length,
    secrets: of(ranges.secrets).length,
  };
}

/** Nothing new comes that goes beyond what the tenant may have at that moment. */
export const keepsQuotas: Invariant = (changes, chronicle) => {
  for (const change of changes) {
    const [tenant = ''] = splitKey(change.key);
    const isNode = change.key.startsWith(ranges.nodes) && !change.before && change.entry;
    const kinds = isNode ? ['nodes'] : isPlaced(change) ? asked(change) : [];
    if (kinds.length === 0) continue;
    const quotas: Readonly<Record<string, number | null>> =
      chronicle.get<StoredTenant>(keys.tenant(tenant))?.quotas ?? {};
    const has = countAll(tenant, chronicle);
    for (const kind of kinds) {
      const limit = quotas[kind] ?? Infinity;
      expect(has[kind], `${kind} of ${tenant.slice(0, 1)}, which may have ${limit}`).to.be.at.most(limit);
    }
    const place = isNode ? 0 : olderDeployments(change.key, chronicle);
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

function olderDeployments(key: string, chronicle: History): number {
  const [tenant = '', name = ''] = splitKey(key);
  const all = chronicle.entries(ranges.of(ranges.deployments, tenant));
  const own = all.find(entry => entry.key === keys.deployment(tenant, name));
  return all.filter(({ created }) => created < (own?.created ?? 0)).length;
}
