import { isDeepStrictEqual } from 'node:util';

import { FieldPath, isDnsLabel } from '../grammar/index.js';
import { hashSpec } from '../meta/index.js';
import { describeValue, reject, type Rejection, type Rejections } from '../rejections/index.js';
import {
  type Admission,
  type Alteration,
  recordAlterations,
  toCheckFailure,
  type WellFormedDocument,
} from '../rule/index.js';
import type { SecretWrite } from '../secret/index.js';
import { areSameMounts, rejectOversized, warnDroppedSecrets, warnImage, warnResidency } from '../workload/index.js';
import { type DependencyList, normalizeDependencies, warnDependencies } from './depends-on.js';
import type {
  Deployment,
  DeploymentContext,
  DeploymentFacts,
  DeploymentLimits,
  StoredDeployment,
} from './deployment.js';
import { completeDeployment, isKnownField, validateDeployment } from './fields.js';
import { warnCanary } from './rollout.js';

/** What becomes of a document. */
export type DeploymentAdmission = Admission<
  Deployment,
  {
    /** Secret material that came with the document: for the secrets store, before the spec is stored. */
    readonly material: readonly SecretWrite[];
    /** The revision the client has seen: to be checked like the header `If-Match`. */
    readonly ifMatch?: string;
  }
>;

/**
 * Judges a document that asks for a new deployment. `secretsVersion` is that of the deployment that it brings back, where it
 * does: nothing lowers it.
 */
export function admitCreate(
  document: unknown,
  facts: DeploymentFacts,
  limits: DeploymentLimits,
  secretsVersion = 0,
): DeploymentAdmission {
  if (!isObject(document)) return refused(validateDeployment(document, createContext(facts, limits, NAMELESS)));

  const sent = splitDocument(document);
  const listed = normalizeDependencies(sent.fields);
  const context = createContext(facts, limits, nameIn(sent.fields), { isSentBack: isReturnedByGet(document) });
  const rejections = listed.asSent(validateDeployment(listed.fields, context));
  return (
    toCheckFailure([...rejections, ...sent.rejections]) ?? accepted(sent, listed, { facts, limits, secretsVersion })
  );
}

/** Whether a document is exactly what GET has returned: it carries the hash of its own spec. */
function isReturnedByGet(document: Readonly<Record<string, unknown>>): boolean {
  const { metadata } = document;
  if (!isObject(metadata)) return false;
  const { metadata: _metadata, status: _status, alterations: _alterations, warnings: _warnings, ...spec } = document;
  return metadata['specHash'] === hashSpec(spec);
}

/**
 * Judges a document that asks to change a stored deployment: sent fields replace, others stay, `null` removes.
 *
 * Only rules of fields that change are applied: a stored field was accepted once, and must not block an unrelated
 * change because other objects or the configuration have changed since.
 */
export function admitUpdate(
  stored: StoredDeployment,
  document: unknown,
  facts: DeploymentFacts,
  limits: DeploymentLimits,
): DeploymentAdmission {
  if (!isObject(document)) return refused(validateDeployment(document, createContext(facts, limits, NAMELESS)));

  const sent = splitDocument(document);
  const before = new Map<string, unknown>(Object.entries(toSpec(stored)));
  const merged: Record<string, unknown> = { ...toSpec(stored), ...sent.fields };
  for (const field of sent.removed) delete merged[field];

  const listed = normalizeDependencies(merged);
  const changes = (field: string) =>
    field === 'volumes'
      ? !areSameMounts(stored.volumes, listed.fields[field])
      : !isDeepStrictEqual(before.get(field), listed.fields[field]);
  const context = createContext(facts, limits, stored.name, { stored });
  const rejections = listed.asSent(validateDeployment(listed.fields, context, changes));
  return (
    toCheckFailure([...rejections, ...sent.rejections]) ??
    accepted(sent, listed, { facts, limits, stored, secretsVersion: stored.secretsVersion })
  );
}

/** What a stored deployment asks for, without what the server has added. */
export function toSpec(stored: StoredDeployment): Deployment {
  const { metadata: _, ...spec } = stored;
  return spec;
}

/**
 * The document that asks for exactly this spec, in place of the stored one or as a new deployment. What the server sets is
 * left out: the residency labels, and `secretsVersion`, which only a rotation moves.
 */
export function toReplacement(spec: Deployment, stored?: StoredDeployment): Readonly<Record<string, unknown>> {
  const { secretsVersion: _, placement, ...fields } = spec;
  const { labels: __, ...written } = placement ?? {};
  const document: Record<string, unknown> = { ...fields, ...(placement && { placement: written }) };
  const surplus = Object.keys(stored ? toSpec(stored) : {}).filter(field => !Object.hasOwn(spec, field));
  for (const field of surplus) document[field] = null;
  return document;
}

interface AdmissionInput {
  readonly facts: DeploymentFacts;
  readonly limits: DeploymentLimits;
  readonly secretsVersion: number;
  /** When this is an update. */
  readonly stored?: StoredDeployment;
}

function accepted(
  sent: DocumentParts,
  listed: DependencyList,
  { facts, limits, stored, secretsVersion }: AdmissionInput,
): DeploymentAdmission {
  const { alterations, announce } = recordAlterations();
  const material: SecretWrite[] = [];
  const completion = { facts, limits, material, secretsVersion };
  const spec = completeDeployment(listed.fields, completion, announce);
  const all = [...asOneList(alterations, listed, spec), ...sent.alterations];
  const oversized = rejectOversized(spec, all, stored && toSpec(stored));
  if (oversized) return refused([oversized]);
  const { ifMatch } = sent;
  return {
    ok: true,
    spec,
    alterations: all,
    warnings: [
      ...warnImage(facts.image, spec.image),
      ...warnResidency(spec.placement?.residency, facts),
      ...warnDependencies(spec.dependsOn, facts),
      ...warnDroppedSecrets(stored?.secrets, spec.secrets),
      ...warnCanary(spec),
    ],
    material,
    ...(ifMatch !== undefined && { ifMatch }),
  };
}

/** A map that became a list is one alteration, not one for each entry. */
function asOneList(
  alterations: readonly Alteration[],
  { map }: DependencyList,
  { dependsOn }: Deployment,
): readonly Alteration[] {
  if (map === undefined) return alterations;
  const field = FieldPath.root.child('dependsOn').toString();
  const others = alterations.filter(alteration => !alteration.field.startsWith(field));
  return [...others, { field, from: map, to: dependsOn, why: 'dependencies are stored as a list' }];
}

function refused(rejections: readonly Rejection[]): DeploymentAdmission {
  return { ok: false, rejections: rejections as Rejections };
}

/** The name for use in wording, where a hostile one has no place. */
function nameIn(fields: Readonly<Record<string, unknown>>): string {
  const name = fields['name'];
  return typeof name === 'string' && isDnsLabel(name) ? name : NAMELESS;
}

const NAMELESS = '<name>';

function createContext(
  facts: DeploymentFacts,
  limits: DeploymentLimits,
  name: string,
  { stored, isSentBack }: { readonly stored?: StoredDeployment; readonly isSentBack?: boolean } = {},
): (sound: WellFormedDocument) => DeploymentContext {
  const before = stored as DeploymentContext['stored'];
  return ({ document, isWhole }) => {
    return { document, isWhole, kind: 'Deployment', facts, limits, name, stored: before, isSentBack };
  };
}

function isObject(document: unknown): document is Readonly<Record<string, unknown>> {
  return typeof document === 'object' && document !== null && !Array.isArray(document);
}

/** What the server adds to a deployment in its answers. A client that sends it back gets a warning. */
const READ_ONLY: ReadonlySet<string> = new Set(['metadata', 'status', 'alterations', 'warnings']);

/** A document, taken apart. */
export interface DocumentParts {
  /** What is asked for. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Names of fields sent as `null`: to be removed, or to be left at their default. */
  readonly removed: readonly string[];
  /** The revision the client has seen, when it sent one. */
  readonly ifMatch?: string;
  readonly alterations: readonly Alteration[];
  readonly rejections: readonly Rejection[];
}

/** Separates what a client asks for from what it only sends back. */
export function splitDocument(document: Readonly<Record<string, unknown>>): DocumentParts {
  const names = Object.keys(document);
  const readOnly = names.filter(name => READ_ONLY.has(name));
  // An unknown field cannot be removed; it stays in the document and is refused there.
  const removed = names.filter(name => document[name] === null && isKnownField(name) && !READ_ONLY.has(name));
  const ofJobs = names.filter(name => name === 'restartPolicy');
  const revision = revisionIn(document['metadata']);
  const isReadable = revision === undefined || typeof revision === 'string';
  return {
    fields: without(document, [...readOnly, ...removed, ...ofJobs]),
    removed,
    ...(typeof revision === 'string' ? { ifMatch: revision } : {}),
    alterations: readOnly.map(field => ({
      field,
      from: describeValue(document[field]),
      to: null,
      why: 'set by the server only',
    })),
    rejections: [
      ...ofJobs.map(field => reject('restart_policy_jobs_only', field, document[field])),
      // A guard that cannot be read must not be passed over: the client relies on it.
      ...(isReadable ? [] : [reject('field_invalid', REVISION, revision, { wanted: 'a revision, as a string' })]),
    ],
  };
}

/** Mostly nothing is taken out, and then nothing is copied. */
function without(document: Readonly<Record<string, unknown>>, names: readonly string[]): DocumentParts['fields'] {
  if (names.length === 0) return document;
  const rest = { ...document };
  for (const name of names) delete rest[name];
  return rest;
}

const REVISION = FieldPath.root.child('metadata').child('revision');

function revisionIn(metadata: unknown): unknown {
  if (typeof metadata !== 'object' || metadata === null) return undefined;
  return (metadata as Record<string, unknown>)['revision'] ?? undefined;
}
