import { isDeepStrictEqual } from 'node:util';

import { isDnsLabel } from '../grammar/index.js';
import type { Rejection, Rejections } from '../rejections/index.js';
import { type Alteration, refusalOf, type Warning } from '../rule/index.js';
import { complete, type SentDeployment } from './complete.js';
import type { Deployment, StoredDeployment } from './deployment.js';
import type { DeploymentFacts, DeploymentLimits } from './limits.js';
import { examineDeployment } from './rules.js';
import { type Sent, sentBy } from './sent.js';

/** What becomes of a document: the spec to store, or everything that is wrong with it. */
export type Admission =
  | {
      readonly ok: true;
      readonly spec: Deployment;
      /** Every difference between what was sent and what is to be stored. */
      readonly alterations: readonly Alteration[];
      readonly warnings: readonly Warning[];
      /** The revision the client has seen: to be honoured like the header `If-Match`. */
      readonly ifMatch?: string;
    }
  | { readonly ok: false; readonly rejections: Rejections };

/** Judges a document that asks for a new deployment. */
export function admitCreate(document: unknown, facts: DeploymentFacts, limits: DeploymentLimits): Admission {
  if (!isObject(document)) return refused(examineDeployment(document, context(facts, limits)));

  const sent = sentBy(document);
  const name = nameIn(sent.fields);
  const rejections = examineDeployment(sent.fields, { ...context(facts, limits), name });
  return refusalOf([...rejections, ...sent.rejections]) ?? accepted(sent, sent.fields, facts, 0);
}

/**
 * Judges a document that asks to change a stored deployment: sent fields replace, others stay, `null` removes.
 *
 * Only what would change is asked about: what stands already was accepted once, and must not keep an unrelated change
 * out because the world or the configuration has moved on.
 */
export function admitUpdate(
  stored: StoredDeployment,
  document: unknown,
  facts: DeploymentFacts,
  limits: DeploymentLimits,
): Admission {
  const { name } = stored;
  if (!isObject(document)) return refused(examineDeployment(document, context(facts, limits)));

  const sent = sentBy(document);
  const before = new Map<string, unknown>(Object.entries(specOf(stored)));
  const merged: Record<string, unknown> = { ...specOf(stored), ...sent.fields };
  for (const field of sent.removed) delete merged[field];

  const changes = (field: string) => !isDeepStrictEqual(before.get(field), merged[field]);
  const rejections = examineDeployment(merged, { ...context(facts, limits), name, stored }, changes);
  return refusalOf([...rejections, ...sent.rejections]) ?? accepted(sent, merged, facts, stored.secretsVersion);
}

/** What a stored deployment asks for, without what the server has added. */
export function specOf(stored: StoredDeployment): Deployment {
  const { metadata: _, ...spec } = stored;
  return spec;
}

function accepted(
  sent: Sent,
  fields: Readonly<Record<string, unknown>>,
  facts: DeploymentFacts,
  secretsVersion: number,
): Admission {
  const { spec, alterations } = complete(fields as SentDeployment, facts, secretsVersion);
  const { ifMatch } = sent;
  return {
    ok: true,
    spec,
    alterations: [...alterations, ...sent.alterations],
    warnings: [],
    ...(ifMatch !== undefined && { ifMatch }),
  };
}

function refused(rejections: readonly Rejection[]): Admission {
  return { ok: false, rejections: rejections as Rejections };
}

/** The name for use in wording, where a hostile one has no place. */
function nameIn(fields: Readonly<Record<string, unknown>>): string {
  const name = fields['name'];
  return typeof name === 'string' && isDnsLabel(name) ? name : NAMELESS;
}

const NAMELESS = '<name>';

function context(facts: DeploymentFacts, limits: DeploymentLimits) {
  return { facts, limits, name: NAMELESS };
}

function isObject(document: unknown): document is Readonly<Record<string, unknown>> {
  return typeof document === 'object' && document !== null && !Array.isArray(document);
}
