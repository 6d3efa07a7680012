import { type Regions, type Residency, residencyRefusals } from '../../../crds/residency/index.js';
import { type Refusal, refusal } from '../../../crds/scheduling/index.js';
import type { Filter } from '../filter.js';

/** A residency that is asked for, and what the control plane declares about it. */
export interface ResidencyRule {
  readonly asked: Residency;
  readonly regions: Regions;
}

/**
 * Says how a node with these labels breaks a residency. Undefined: it keeps it.
 *
 * A control plane that does not enforce residency cannot keep it anywhere: what asks for it waits.
 */
export function breachOf({ asked, regions }: ResidencyRule, labels: Readonly<Record<string, string>>) {
  if (!regions.enforced) return refusal('residency', 'residency to be enforced', 'that it is not');
  const unmet = residencyRefusals(asked, labels, regions);
  return unmet.length === 0 ? undefined : inWords(unmet);
}

/** Keeps a workload where its data may be. */
export const residency: Filter = {
  name: 'residency',
  refuse: (node, workload) => workload.residency && breachOf(workload.residency, node.labels),
};

const shown = { country: 'country', region: 'region', blockedCountries: 'country' } as const;

function inWords(unmet: ReturnType<typeof residencyRefusals>): Refusal {
  const say = (which: 'required' | 'reported') => unmet.map(each => `${shown[each.part]} ${each[which]}`).join('; ');
  return refusal('residency', say('required'), say('reported'));
}
