import { Type } from 'typebox';

import {
  DNS_LABEL_MAX,
  isDnsLabelText,
  isLabelKey,
  isLabelValue,
  isReservedLabel,
  RESERVED_LABELS,
} from '../grammar/index.js';
import type { PatchStep } from '../rejections/index.js';
import {
  isResidencyLabel,
  isTypedInFull,
  parseResidencyLabels,
  renderResidencyLabels,
  type Residency,
} from '../residency/index.js';
import { annotate, attachFix, type FieldRules, fixByRemoval, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';

type Labels = Readonly<Record<string, string>>;

const labelsAreFree = rule('label_reserved', (labels: Labels, at, refuse) =>
  Object.keys(labels)
    .filter(key => isReservedLabel(key) && !isResidencyLabel(key))
    .map(key => refuse(at.child(key), key, { prefixes: RESERVED_LABELS })),
);

const labelsAreWellFormed = rule('label_invalid', (labels: Labels, at, refuse) =>
  Object.entries(labels)
    .filter(([key, value]) => !isResidencyLabel(key) && (!isLabelKey(key) || !isLabelValue(value)))
    .map(([key, value]) => refuse(at.child(key), isLabelKey(key) ? value : key)),
);

export const labelsRules: FieldRules<Context> = { field: 'labels', present: [labelsAreFree, labelsAreWellFormed] };

const residencyIsTyped = rule('residency_label_handwritten', (labels: Labels, at, refuse, context: Context) => {
  const { document, facts } = context;
  const placement = document['placement'] as Placement | undefined;
  const written = Object.keys(labels).filter(isResidencyLabel);
  if (written.length === 0 || placement?.residency !== undefined) return undefined;

  const block = parseResidencyLabels(labels);
  const errors = written.map(key => refuse(at.child(key), labels[key], { block: JSON.stringify(block) }));
  const add: PatchStep =
    placement === undefined
      ? { op: 'add', path: '/placement', value: { residency: block } }
      : { op: 'add', path: '/placement/residency', value: block };
  const removals = written.map(key => ({ op: 'remove', path: at.child(key).toPointer() }) as const);
  const stated = Object.fromEntries(written.map(key => [key, labels[key]!]));
  if (!isTypedInFull(stated, facts.regions)) return errors;
  // One patch fixes them all, so only the first error carries it.
  return [attachFix(errors[0]!, ...removals, add), ...errors.slice(1)];
});

const residencyIsSaidOnce = rule('residency_label_conflict', (labels: Labels, at, refuse, { document }: Context) => {
  const residency = (document['placement'] as Placement | undefined)?.residency;
  if (residency === undefined) return undefined;
  const rendered = renderResidencyLabels(residency);
  return Object.keys(labels)
    .filter(isResidencyLabel)
    .map(key => {
      const error = refuse(at.child(key), labels[key]);
      // A label that says something else may be the intended one.
      return rendered[key] === labels[key] ? fixByRemoval(error) : error;
    });
});

type Placement = { readonly residency?: Residency };

/** Residency stands in `placement`, not here. Asked when either changes. */
export const residencyLabelRules: FieldRules<Context> = {
  field: 'labels',
  with: ['placement'],
  present: [residencyIsTyped, residencyIsSaidOnce],
};

export const nameSchema = Type.String({ maxLength: DNS_LABEL_MAX, ...annotate({ 'x-rules': true }) });

const nameIsThere = rule('name_required', (name: unknown, at, refuse) =>
  name === undefined || name === '' ? refuse(at, name) : undefined,
);

const nameStays = rule('field_immutable', (name: unknown, at, refuse, { stored }: Context) =>
  stored === undefined || name === stored.name ? undefined : refuse(at, name, { current: stored.name }),
);

const nameIsDnsLabel = rule('deployment_name_invalid', (name: unknown, at, refuse) =>
  typeof name === 'string' && isDnsLabelText(name) ? undefined : refuse(at, name),
);

const nameIsShort = rule('deployment_name_too_long', (name: unknown, at, refuse) =>
  typeof name === 'string' && name.length > DNS_LABEL_MAX ? refuse(at, name, { max: DNS_LABEL_MAX }) : undefined,
);

const nameIsFree = rule('reserved_infrastructure_name', (name: unknown, at, refuse, { limits }: Context) =>
  typeof name === 'string' && limits.reservedNames.includes(name)
    ? refuse(at, name, { reserved: limits.reservedNames })
    : undefined,
);

export const nameRules: FieldRules<Context> = {
  field: 'name',
  absent: nameIsThere,
  present: [nameIsThere, nameStays, nameIsDnsLabel, nameIsShort, nameIsFree],
};
