import { refusal } from '../../../crds/scheduling/index.js';
import type { LabelConstraint } from '../../../crds/workload/index.js';
import type { Filter } from '../filter.js';

/** Wants the labels that the deployment asks for. */
export const labelConstraint: Filter = {
  name: 'label_constraint',
  refuse: (node, { constraints }) => {
    if (constraints.length === 0) return undefined;
    const unmet = constraints.filter(constraint => !isMet(constraint, node.labels[constraint.key]));
    if (unmet.length === 0) return undefined;

    const reported = [...new Set(unmet.map(({ key }) => key))].map(key =>
      node.labels[key] === undefined ? `no ${key}` : `${key}=${node.labels[key]}`,
    );
    return refusal('label_constraint', unmet.map(asked).join('; '), reported.join('; '));
  },
};

/** A label that is not there is not in any list. */
function isMet({ operator, values = [] }: LabelConstraint, value: string | undefined): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const listed = value !== undefined && values.includes(value);
  return operator === 'In' ? listed : !listed;
}

function asked({ key, operator, values = [] }: LabelConstraint): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `no ${key}`;
  return `${key} ${operator === 'In' ? 'in' : 'not in'} ${values.join(', ')}`;
}
