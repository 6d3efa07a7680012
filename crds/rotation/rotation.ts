import { type Static, Type } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import { reject, type Rejection } from '../rejections/index.js';
import {
  annotate,
  attachFix,
  type CheckResult,
  createValidator,
  type FieldRules,
  rule,
  toCheckFailure,
} from '../rule/index.js';
import {
  findProvidedAndGenerated,
  type GenerateInput,
  generateRules,
  generateSchema,
  hasNoValues,
  type Generation,
  type MaterialContext,
  type SecretLimits,
  toGeneration,
  valuesRules,
  writtenValuesSchema,
} from '../secret/index.js';

/** The phases of a rotation, in order; after the last it is `idle` again. */
export const rotationPhases = ['stage', 'promote', 'verify', 'retire'] as const;

/** A phase that can be asked for. */
export type RotationPhase = (typeof rotationPhases)[number];

/** Where a rotation stands. */
export type RotationState = RotationPhase | 'idle';

/** What is known of a credential's rotation. */
export interface RotationFacts {
  readonly state: RotationState;
  /** What the present phase still waits for; absent once it holds. */
  readonly waitsFor?: string;
  /** The last rotation was turned back, or is being: asked for again, that is no fault. */
  readonly isTurnedBack?: boolean;
  /** Labels of the credentials that the deployment refers to. */
  readonly labels: readonly string[];
  /** Labels of those whose material is managed elsewhere. */
  readonly external: readonly string[];
}

/** A rotation that may go ahead. */
export interface RotationStep {
  /** Label of the credential. */
  readonly label: string;
  readonly phase: RotationPhase | 'abort';
  /** The phase is the present one already: nothing is to be done. */
  readonly isRepeat: boolean;
  readonly values?: Readonly<Record<string, string>>;
  readonly generation?: Generation;
}

/** `POST /api/v1/deployments/{name}/secrets/rotate`. */
export const rotationSchema = Type.Object(
  {
    phase: Type.Enum([...rotationPhases, 'abort'], {
      type: 'string',
      ...annotate({ 'x-rules': true, 'x-quoted': true }),
    }),
    secret: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        ...annotate({ 'x-expected': 'the label of a secret', 'x-quoted': true }),
      }),
    ),
    values: Type.Optional(writtenValuesSchema),
    generate: Type.Optional(generateSchema),
  },
  { additionalProperties: false, ...annotate({ 'x-redact': 'throughout' }) },
);

/** The one phase that follows. */
export function getNextPhase(state: RotationState): RotationPhase {
  return rotationPhases[state === 'idle' ? 0 : (rotationPhases.indexOf(state) + 1) % rotationPhases.length]!;
}

function isRepeat(phase: unknown, { state, isTurnedBack = false }: RotationFacts): boolean {
  return (phase === state && state !== 'idle') || (phase === 'abort' && isTurnedBack);
}

interface Context extends MaterialContext {
  readonly facts: RotationFacts;
  readonly document: Readonly<Record<string, unknown>>;
}

const phaseFollows = rule('rotation_transition_invalid', (phase: unknown, at, refuse, { facts }: Context) => {
  const { state, waitsFor } = facts;
  const next = getNextPhase(state);
  // From retire on there is nothing left to undo, whatever it waits for: the old material is going.
  if (isRepeat(phase, facts) || (phase === 'abort' && isRotationOpen({ state }))) return undefined;
  if (phase === next && waitsFor === undefined) return undefined;
  const error = refuse(at, phase, { next, waitsFor });
  if (waitsFor !== undefined) return error;
  const fix = { op: phase === undefined ? 'add' : 'replace', path: at.toPointer(), value: next } as const;
  return attachFix(error, fix);
});

const secretIsOneOfTheirs = rule('field_invalid', (secret: unknown, at, refuse, { facts }: Context) => {
  if (secret === undefined ? facts.labels.length === 1 : facts.labels.includes(secret as string)) return undefined;
  const wanted =
    facts.labels.length === 0 ? 'a deployment that refers to a secret' : `one of ${facts.labels.join(', ')}`;
  return refuse(at, secret, { wanted });
});

const materialIsForStaging = rule('field_invalid', (material: unknown, at, refuse, { document }: Context) =>
  document['phase'] === 'stage'
    ? undefined
    : refuse(at, Object.keys(material ?? {}), { wanted: 'no material after stage' }),
);

const materialIsThere = rule('secret_write_empty', (values: unknown, at, refuse, context: Context) => {
  const { document, facts } = context;
  if (document['phase'] !== 'stage' || !hasNoValues(values)) return undefined;
  // A step that announces values and brings none would rotate nothing.
  if (values === null || (values !== undefined && document['generate'] === undefined)) return refuse(at, values);
  const begins = facts.state === 'idle' || facts.state === 'retire';
  return begins && isExternal(context) ? refuse(at, values) : undefined;
});

const externalIsNotMinted = rule('secret_external_not_writable', (generate: unknown, at, refuse, context: Context) =>
  isExternal(context) ? refuse(at, generate) : undefined,
);

function isExternal({ document, facts }: Context): boolean {
  return facts.external.includes((document['secret'] as string | undefined) ?? facts.labels[0] ?? '');
}

const keysAreApart = rule('secret_key_provided_and_generated', (generate: unknown, at, refuse, context: Context) =>
  findProvidedAndGenerated(context.document['values'], generate, at, refuse),
);

const fields: readonly FieldRules<Context>[] = [
  { field: 'phase', absent: phaseFollows, present: [phaseFollows] },
  { field: 'secret', absent: secretIsOneOfTheirs, present: [secretIsOneOfTheirs] },
  { field: 'values', absent: materialIsThere, present: [materialIsForStaging, materialIsThere, ...valuesRules] },
  { field: 'generate', present: [materialIsForStaging, externalIsNotMinted, ...generateRules, keysAreApart] },
];

const validate = createValidator(rotationSchema, fields);

/** Judges a step of a rotation: whether it is the next one, and whether it brings what it needs. */
export function checkRotation(
  document: unknown,
  facts: RotationFacts,
  limits: SecretLimits,
): CheckResult<RotationStep> {
  const found = validate(document, sound => ({ facts, limits: { secrets: limits }, document: sound.document }));
  const refused = toCheckFailure(found);
  if (refused) return refused;
  const { phase, secret, values, generate } = document as Static<typeof rotationSchema>;
  const generation = generate && toGeneration(generate as GenerateInput, limits);
  return {
    ok: true,
    value: {
      label: secret ?? facts.labels[0]!,
      phase,
      isRepeat: isRepeat(phase, facts),
      ...(values && { values }),
      ...(generation && { generation }),
    },
  };
}

/** The refusal of a step that was the next one when it was asked for, and no longer is. */
export function rejectOvertakenStep(phase: string, facts: Pick<RotationFacts, 'state' | 'waitsFor'>): Rejection {
  const params = { next: getNextPhase(facts.state), waitsFor: facts.waitsFor };
  return reject('rotation_transition_invalid', FieldPath.root.child('phase'), phase, params);
}

/**
 * Where the next version comes from: the caller, who has sent values, or the platform. Without a recipe the platform
 * mints every key of the present version again.
 */
export type RotationMaterial =
  | { readonly by: 'caller' }
  | { readonly by: 'platform'; readonly generation?: Generation };

/** `rotations/<tenant>/<label>`: the phase that was asked for. Written by the API. Holds no material. */
export interface RotationRecord {
  /** Of this rotation, from `stage` to its end. */
  readonly id: string;
  /** `<namespace>/<label>`. */
  readonly path: string;
  readonly phase: RotationPhase | 'abort';
  /** The version that containers had when it began; 0 when there was none. */
  readonly from: number;
  /** The version that is staged. */
  readonly to: number;
  readonly material: RotationMaterial;
  /** The deployment through which it was asked for. */
  readonly deployment: string;
  readonly by: string;
  readonly askedAt: string;
}

/** `rotation-progress/<tenant>/<label>`: how far that phase is. Written by the rotation phaser. */
export interface RotationProgress {
  /** Of the rotation that this is about. */
  readonly id: string;
  readonly phase: RotationPhase | 'abort';
  readonly holds: boolean;
  /** For people, while the phase does not hold. */
  readonly waitsFor?: string;
  /** The staged version was seen as this rotation's own. */
  readonly staged: boolean;
  /** The secretsVersion that each consumer, by uid, was raised to for the new version. */
  readonly raised: Readonly<Record<string, number>>;
  /** The same for the way back. */
  readonly returned: Readonly<Record<string, number>>;
  /** What the phase destroys last, of exactly this credential. Absent until that is decided. */
  readonly dooms?: { readonly version: number; readonly uid: string };
  readonly at: string;
}

type RotationStatus = Pick<RotationFacts, 'state' | 'waitsFor'>;

/** Whether a rotation is under way: from `stage` until it has retired the old version or has been turned back. */
export function isRotationOpen({ state, waitsFor }: RotationStatus): boolean {
  return waitsFor !== undefined || (state !== 'idle' && state !== 'retire');
}

/** What a phase waits for until the rotation phaser has looked at it. */
export const ROTATION_PHASER = 'the rotation phaser';

/**
 * Where a rotation stands, from what was asked for and how far that is. One that was turned back is idle again; one that
 * has ended well stays at `retire`, so that its last step may be repeated.
 */
export function readRotationState(
  asked: RotationRecord | undefined,
  progress: RotationProgress | undefined,
): RotationStatus {
  if (!asked) return { state: 'idle' };
  const own = progress?.id === asked.id && progress.phase === asked.phase ? progress : undefined;
  const state = asked.phase === 'abort' ? 'idle' : asked.phase;
  return own?.holds ? { state } : { state, waitsFor: own?.waitsFor ?? ROTATION_PHASER };
}
