import { nodeCountryLabel, nodeRegionLabel, type Residency, checkResidency } from '../residency/index.js';
import type { Warning } from '../rule/index.js';
import type { WorkloadFacts } from './context.js';

/** Which residency cannot be honoured now: it is stored all the same, and the workload waits. */
export function warnResidency(residency: Residency | undefined, facts: WorkloadFacts): readonly Warning[] {
  if (residency === undefined || Object.keys(residency).length === 0) return [];
  const field = 'placement.residency';
  const { nodes, regions } = facts;
  if (!regions.enforced) {
    const message = 'residency is not enforced by this control plane: nothing is placed until it is';
    return [{ code: 'residency_enforcement_off', field, message }];
  }
  if (nodes === 'unreadable') return [];

  const reachable = nodes.filter(node => node.reachable);
  if (reachable.some(({ labels }) => checkResidency(residency, labels, regions).length === 0)) return [];
  const advertised = reachable.flatMap(({ labels }) => labels[nodeCountryLabel] ?? labels[nodeRegionLabel] ?? []);
  const message = 'no reachable node advertises a label that satisfies this residency: the workload waits';
  return [{ code: 'residency_no_matching_node', field, message, advertised: [...new Set(advertised)].sort() }];
}
