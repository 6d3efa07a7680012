import { callerRejections } from './callers.js';
import { deploymentRejections, healthCheckRejections } from './deployment.js';
import type { CatalogueEntry } from './entry.js';
import { failures } from './failures.js';
import { fieldRejections } from './fields.js';
import { deliveryRejections, nodeRejections } from './nodes.js';
import { placementRejections } from './placement.js';
import { recommendationRejections } from './recommendations.js';
import { relationRejections } from './relations.js';
import { requestRejections } from './requests.js';
import { scalingRejections } from './scaling.js';
import { secretMaterialRejections } from './secret-material.js';
import { secretRejections } from './secrets.js';
import { volumeRejections } from './volumes.js';

/** The groups in the order of the reference pages. A code stands in one of them only; `hack/check-rejections.ts` sees to it. */
export const catalogueGroups = [
  deploymentRejections,
  healthCheckRejections,
  secretRejections,
  secretMaterialRejections,
  placementRejections,
  volumeRejections,
  recommendationRejections,
  relationRejections,
  scalingRejections,
  fieldRejections,
  requestRejections,
  callerRejections,
  nodeRejections,
  deliveryRejections,
  failures,
] as const;

type Merged<Group> = (Group extends unknown ? (group: Group) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** Every code with its row. */
export const catalogue = Object.assign({}, ...catalogueGroups) as Merged<(typeof catalogueGroups)[number]>;

/** A code of the catalogue. */
export type RejectionCode = keyof typeof catalogue;

/** The parameters of the accepted form of a code, as the rest of an argument list: nothing, or one object. */
export type ParamsOf<Code extends RejectionCode> = (typeof catalogue)[Code] extends {
  readonly expected: (params: infer Params) => string;
}
  ? [params: Params]
  : [];

/** The codes whose accepted form is always the same. */
export type PlainCode = { [Code in RejectionCode]: ParamsOf<Code> extends [] ? Code : never }[RejectionCode];

/** Whether a text is a code of the catalogue. */
export function isRejectionCode(text: string): text is RejectionCode {
  return Object.hasOwn(catalogue, text);
}

/** The row of a code with its parameter type forgotten, and samples of the parameters where it has some. */
export interface AnyCatalogueEntry extends Required<Omit<CatalogueEntry<unknown>, 'echo'>> {
  readonly echo?: 'never';
  readonly sample?: unknown;
}

/** The row of a code. */
export function getEntry(code: RejectionCode): AnyCatalogueEntry {
  return catalogue[code] as unknown as AnyCatalogueEntry;
}
