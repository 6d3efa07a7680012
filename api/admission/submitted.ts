import { type Deployment, type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import { isDnsLabel, isSecretLabel, parseSecretPath } from '../../crds/grammar/index.js';
import { type Fields, isFields } from '../http/body.js';

/** A submitted document before it is validated: every part may have any type. */
export interface SubmittedDocument {
  /** The workload as it would stand: what was sent, over what is stored. */
  readonly fields: Fields;
  /** Whether the document says anything about a field. */
  readonly sends: (field: string) => boolean;
  readonly stored?: StoredDeployment;
}

const NOTHING: SubmittedDocument = { fields: {}, sends: () => false };

/** What a document asks for, over what is stored. */
export function readSubmitted(document: unknown, stored?: StoredDeployment): SubmittedDocument {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return NOTHING;
  const sent = document as Fields;
  const sends = (field: string) => Object.hasOwn(sent, field);
  if (!stored) return { fields: sent, sends };
  return { fields: { ...(toSpec(stored) as Deployment & Fields), ...sent }, sends, stored };
}

/** No list that is looked at here may be longer: one that is will be refused for it, and is not worth a look-up. */
const LONGEST = 64;

/** The entries of a list, whatever was sent in its place. */
export function readList({ fields }: SubmittedDocument, field: string): readonly Fields[] {
  const list = fields[field];
  return Array.isArray(list) && list.length <= LONGEST ? list.filter(isFields) : [];
}

/** The secret paths that a document refers to and that are paths. */
export function listSecretPaths(
  submitted: SubmittedDocument,
): readonly { readonly path: string; readonly label: string }[] {
  return readList(submitted, 'secrets').flatMap(({ vault_path: path }) => {
    const label = typeof path === 'string' ? parseSecretPath(path)?.label : undefined;
    return typeof path === 'string' && label !== undefined && isSecretLabel(label) ? [{ path, label }] : [];
  });
}

/** The names of the deployments that a document waits for: in a list, or as the keys of a map. */
export function listDependencies({ fields }: SubmittedDocument): readonly string[] {
  const sent = fields['dependsOn'];
  const names: readonly unknown[] = Array.isArray(sent)
    ? sent.map(entry => (isFields(entry) ? entry['name'] : undefined))
    : Object.keys(isFields(sent) ? sent : {});
  return names.length > LONGEST ? [] : names.filter(name => typeof name === 'string');
}

/** The names of the networks that a document joins and that are names. */
export function listNetworkNames({ fields }: SubmittedDocument): readonly string[] {
  const { networks } = fields;
  if (!Array.isArray(networks) || networks.length > LONGEST) return [];
  return networks.filter(name => typeof name === 'string' && isDnsLabel(name));
}

/** Whether a document asks for residency. */
export function hasResidency({ fields }: SubmittedDocument): boolean {
  return isFields(fields['placement']) && fields['placement']['residency'] !== undefined;
}
