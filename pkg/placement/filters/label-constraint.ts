import type { LabelConstraint } from '../../../crds/workload/index.js';
import type { Filter } from '../filter.js';

/** Wants the labels that the deployment asks for. */
export const labelConstraint: Filter = {
  name: 'label_constraint',
  accepts: (node, { constraints }) => constraints.every(each => isMet(each, node.labels[each.key])),
  words: (node, { constraints }) => {
    const unmet = constraints.filter(each => !isMet(each, node.labels[each.key]));
    const reported = [...new Set(unmet.map(({ key }) => key))].map(key =>
      node.labels[key] === undefined ? `no ${key}` : `${key}=${node.labels[key]}`,
    );
    return [unmet.map(asked).join('; '), reported.join('; ')];
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
