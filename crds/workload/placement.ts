import { isDeepStrictEqual } from 'node:util';

import { type Static, Type } from 'typebox';

import { FieldPath, isDnsLabel, isLabelKey, isLabelValue } from '../grammar/index.js';
import {
  checkResidency,
  completeResidency,
  nodeCountryLabel,
  nodeRegionLabel,
  isTypedInFull,
  parseResidencyLabels,
  renderResidencyLabels,
  type Residency,
  type ResidencyInput,
  residencyRules,
  residencySchema,
} from '../residency/index.js';
import {
  annotate,
  type Announce,
  attachFix,
  type FieldRules,
  fixByRemoval,
  forEachEntry,
  forPart,
  isBroken,
  mapSchema,
  type Relation,
  rule,
  type Warning,
} from '../rule/index.js';
import type { WorkloadContext as Context, WorkloadFacts } from './context.js';

/** A demand on the labels of a node. */
export interface LabelConstraint {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

/** What a replica may not share a place with. */
export interface AntiAffinity {
  /** Whether replicas of the workload itself keep apart. */
  readonly self: boolean;
  /** Names of deployments to keep away from. */
  readonly deployments: readonly string[];
  /** What a place is: `node`, or the value of a node's label. */
  readonly topologyKey: string;
}

/** Where a workload may run, as it is stored. */
export interface PlacementSpec {
  readonly residency?: Residency;
  /** The labels that `residency` stands for. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly constraints?: readonly LabelConstraint[];
  readonly antiAffinity?: AntiAffinity;
}

const CONSTRAINTS_MAX = 32;
const VALUES_MAX = 64;
const DEPLOYMENTS_MAX = 32;
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;
const text = Type.String({ maxLength: 320 });

const VALUES_ARE_FORBIDDEN: Relation = {
  field: 'values',
  forbidden: { all: [{ field: 'operator', isOneOf: ['Exists', 'DoesNotExist'] }, { has: 'values' }] },
  wanted: 'no values for Exists and DoesNotExist',
};

const VALUES_ARE_NEEDED: Relation = {
  field: 'values',
  forbidden: { all: [{ field: 'operator', isOneOf: ['In', 'NotIn'] }, { isEmpty: 'values' }] },
  wanted: 'a list of at least one label value for In and NotIn',
};

const SOMETHING_IS_KEPT_AWAY: Relation = {
  field: 'antiAffinity',
  forbidden: { all: [{ not: { field: 'self', isOneOf: [true] } }, { isEmpty: 'deployments' }] },
  wanted: 'self: true, or the deployments to keep away from',
};

const constraintSchema = Type.Object(
  {
    key: text,
    operator: Type.Enum([...OPERATORS], { type: 'string' }),
    values: Type.Optional(Type.Array(text, { maxItems: VALUES_MAX })),
  },
  {
    additionalProperties: false,
    ...annotate({
      'x-expected': 'an object with key, operator and values',
      'x-relations': [VALUES_ARE_FORBIDDEN, VALUES_ARE_NEEDED],
    }),
  },
);

export const placementSchema = Type.Object(
  {
    residency: Type.Optional(residencySchema),
    labels: Type.Optional(mapSchema(text, { maxProperties: 8 })),
    constraints: Type.Optional(Type.Array(constraintSchema, { maxItems: CONSTRAINTS_MAX })),
    antiAffinity: Type.Optional(
      Type.Object(
        {
          self: Type.Optional(Type.Boolean()),
          deployments: Type.Optional(Type.Array(text, { maxItems: DEPLOYMENTS_MAX })),
          topologyKey: Type.Optional(text),
        },
        {
          additionalProperties: false,
          ...annotate({
            'x-expected': 'an object with self, deployments, topologyKey',
            'x-relations': [SOMETHING_IS_KEPT_AWAY],
          }),
        },
      ),
    ),
  },
  {
    additionalProperties: false,
    ...annotate({ 'x-expected': 'an object with residency, constraints or antiAffinity' }),
  },
);

/** A placement as a client sends it, once the rules have passed it. */
export type PlacementInput = Static<typeof placementSchema>;

/**
 * Whether `labels` is what the server has answered: what is stored, also beside another residency, or what a document
 * that is sent back as a new one has with it. Anything else there was written by hand.
 */
function isAnswered({ labels, residency }: PlacementInput, { stored, isSentBack = false }: Context): boolean {
  const standing = (stored?.['placement'] as PlacementSpec | undefined)?.labels;
  return isDeepStrictEqual({ ...labels }, standing) || (isSentBack && rendersTo(residency, labels));
}

function rendersTo(residency: PlacementInput['residency'], labels: PlacementInput['labels']): boolean {
  const rendered = renderResidencyLabels(completeResidency(residency ?? {}, AT, () => undefined));
  return isDeepStrictEqual({ ...labels }, rendered);
}

const labelsAreRendered = rule('residency_label_handwritten', (sent: PlacementInput, at, refuse, context: Context) => {
  const { labels, residency } = sent;
  if (labels === undefined || residency !== undefined || isAnswered(sent, context)) return undefined;
  const place = at.child('labels');
  const block = parseResidencyLabels(labels);
  const error = refuse(place, labels, { block: JSON.stringify(block) });
  if (!isTypedInFull(labels, context.facts.regions)) return error;
  const remove = { op: 'remove', path: place.toPointer() } as const;
  return attachFix(error, remove, { op: 'add', path: at.child('residency').toPointer(), value: block });
});

const labelsAreNotRepeated = rule('residency_label_conflict', (sent: PlacementInput, at, refuse, context: Context) => {
  const { labels, residency } = sent;
  if (labels === undefined || residency === undefined || isAnswered(sent, context)) return undefined;
  const error = refuse(at.child('labels'), labels);
  return rendersTo(residency, labels) ? fixByRemoval(error) : error;
});

/** A constraint of which only the parts that have their shape are there. */
type SentConstraint = Partial<NonNullable<PlacementInput['constraints']>[number]>;

const constraintsAreSound = rule('field_invalid', (constraint: SentConstraint, at, refuse) => {
  const { key, operator, values } = constraint;
  if (key !== undefined && !isLabelKey(key))
    return refuse(at.child('key'), key, { wanted: 'the key of a node’s label' });
  if (operator === undefined) return undefined;
  if (isBroken(VALUES_ARE_FORBIDDEN, constraint)) {
    return refuse(at.child('values'), values, { wanted: VALUES_ARE_FORBIDDEN.wanted });
  }
  if (isBroken(VALUES_ARE_NEEDED, constraint) || !(values ?? []).every(isLabelValue)) {
    return refuse(at.child('values'), values, { wanted: VALUES_ARE_NEEDED.wanted });
  }
  return undefined;
});

type SentAntiAffinity = NonNullable<PlacementInput['antiAffinity']>;

const antiAffinityIsSound = rule('field_invalid', (sent: SentAntiAffinity, at, refuse) => {
  const { deployments = [], topologyKey = 'node' } = sent;
  if (isBroken(SOMETHING_IS_KEPT_AWAY, sent)) return refuse(at, sent, { wanted: SOMETHING_IS_KEPT_AWAY.wanted });
  const strange = deployments.findIndex(name => !isDnsLabel(name));
  if (strange >= 0) {
    return refuse(at.child('deployments').index(strange), deployments[strange], { wanted: 'the name of a deployment' });
  }
  return isLabelKey(topologyKey)
    ? undefined
    : refuse(at.child('topologyKey'), topologyKey, { wanted: 'node, or the key of a node’s label' });
});

export const placementRules: FieldRules<Context> = {
  field: 'placement',
  present: [
    ...residencyRules.map(residency => forPart('residency', residency)),
    labelsAreRendered,
    labelsAreNotRepeated,
    forPart('constraints', forEachEntry(constraintsAreSound)),
    forPart('antiAffinity', antiAffinityIsSound),
  ],
};

const AT = FieldPath.root.child('placement');

/** The placement to store: residency rendered to labels, defaults filled in, all announced. */
export function completePlacement(sent: PlacementInput, announce: Announce): PlacementSpec {
  const { residency, constraints, antiAffinity } = sent;
  const complete = residency && completeResidency(residency as ResidencyInput, AT.child('residency'), announce);
  const labels = complete && renderResidencyLabels(complete);
  if (!isDeepStrictEqual(sent.labels && { ...sent.labels }, labels)) {
    announce(AT.child('labels'), sent.labels, labels, 'what the residency stands for');
  }
  return {
    ...(complete && { residency: complete, labels: labels ?? {} }),
    ...(constraints && { constraints }),
    ...(antiAffinity && { antiAffinity: completeAntiAffinity(antiAffinity, announce) }),
  };
}

function completeAntiAffinity(sent: SentAntiAffinity, announce: Announce): AntiAffinity {
  const at = AT.child('antiAffinity');
  const defaults: AntiAffinity = { self: false, deployments: [], topologyKey: 'node' };
  for (const part of Object.keys(defaults) as (keyof AntiAffinity)[]) {
    if (sent[part] === undefined) announce(at.child(part), null, defaults[part], 'default');
  }
  return { ...defaults, ...sent };
}

/** Which residency cannot be satisfied now: it is stored all the same, and the workload waits. */
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
  const advertised = reachable.flatMap(({ labels }) =>
    [labels[nodeCountryLabel], labels[nodeRegionLabel]].filter(each => each !== undefined),
  );
  const message = 'no reachable node advertises a label that satisfies this residency: the workload waits';
  return [{ code: 'residency_no_matching_node', field, message, advertised: [...new Set(advertised)].sort() }];
}
