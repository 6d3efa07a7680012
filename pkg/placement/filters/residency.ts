import { type Regions, type Residency, checkResidency } from '../../../crds/residency/index.js';
import type { Filter } from '../filter.js';

/** A residency that is asked for, and what the control plane declares about it. */
export interface ResidencyRule {
  readonly asked: Residency;
  readonly regions: Regions;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Whether a node with these labels keeps a residency.
 *
 * A control plane that does not enforce residency cannot keep it anywhere: what asks for it waits.
 */
export function keepsResidency({ asked, regions }: ResidencyRule, labels: Labels): boolean {
  return regions.enforced && checkResidency(asked, labels, regions).length === 0;
}

/** Keeps a workload where its data may be. */
export const residency: Filter = {
  name: 'residency',
  accepts: (node, workload) => !workload.residency || keepsResidency(workload.residency, node.labels),
  words: (node, workload) => (workload.residency ? wordsOf(workload.residency, node.labels) : ['', '']),
};

const shown = { country: 'country', region: 'region', blockedCountries: 'country' } as const;

function wordsOf({ asked, regions }: ResidencyRule, labels: Labels): readonly [string, string] {
  if (!regions.enforced) return ['residency to be enforced', 'that it is not'];
  const unmet = checkResidency(asked, labels, regions);
  const say = (which: 'required' | 'reported') => unmet.map(each => `${shown[each.part]} ${each[which]}`).join('; ');
  return [say('required'), say('reported')];
}
