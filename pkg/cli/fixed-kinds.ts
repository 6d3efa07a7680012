import type { ApiAnswer, Client } from '../client/index.js';
import { findAppliedKind, formatTitle, type ManifestDocument } from './documents.js';
import { getBehaviour } from './kind-behaviours.js';
import { nodes } from './kinds.js';

const RECREATION = 'delete it and apply again, or give it another name';

/** Fields that hold no credential in any file: what it says of the others is not printed. */
const SHOWN = new Set([
  'accessMode',
  'backoffLimit',
  'class',
  'concurrencyPolicy',
  'driver',
  'image',
  'internal',
  'labels',
  'nodeId',
  'primaryNode',
  'restartPolicy',
  'schedule',
  'sizeBytes',
  'timeoutSeconds',
  'timeZone',
  'ttlSecondsAfterFinished',
  'type',
]);

/** One field that is not as it was created. */
export interface FieldDifference {
  readonly field: string;
  readonly stored: unknown;
  readonly sent: unknown;
  readonly isShown: boolean;
}

/** Whether objects of the manifest's kind cannot be changed. */
export function isFixed(manifest: ManifestDocument): boolean {
  return findAppliedKind(manifest)?.descriptor.operations.includes('update') === false;
}

/** Fields that an object has only when its creator has set them. */
const OPTIONAL: ReadonlySet<string> = new Set([
  'schedule',
  'timeZone',
  'timeoutSeconds',
  'ttlSecondsAfterFinished',
  'command',
  'entrypoint',
  'environment',
  'secrets',
  'composedSecrets',
  'networks',
]);

/** The fields that an object was created with and that a manifest does not mention. */
export function listUnmentioned({ value }: ManifestDocument, stored: object): readonly string[] {
  return Object.keys(stored).filter(field => OPTIONAL.has(field) && !Object.hasOwn(value, field));
}

/** The fields of a manifest that are not as the object was created. What it does not mention is as it is. */
export async function listDifferences(
  client: Client,
  { value }: ManifestDocument,
  stored: Readonly<Record<string, unknown>>,
): Promise<readonly FieldDifference[]> {
  const sent = Object.entries(value)
    .filter(([field]) => field !== 'kind')
    .map(([field, given]) => [field, field === 'secrets' ? withoutMaterial(given) : given] as const);
  const different = sent.filter(([field, given]) => {
    if (given === null && OPTIONAL.has(field)) return stored[field] !== undefined;
    return MAPS.has(field) ? !isSameMap(given, stored[field]) : !isMentionedAlike(given, stored[field]);
  });
  const found = different.map(([field, given]) => ({
    field,
    stored: stored[field] ?? null,
    sent: given,
    isShown: SHOWN.has(field),
  }));
  const at = found.find(({ field }) => field === 'nodeId' || field === 'primaryNode');
  // A file may name the node, of which the id is stored.
  const node = typeof at?.sent === 'string' ? await readNode(client, at.sent) : undefined;
  return node?.ok && node.value.id === at?.stored ? found.filter(each => each !== at) : found;
}

/** References to secrets as they are stored. Values went to the secrets store: nothing compares or prints them. */
function withoutMaterial(references: unknown): unknown {
  if (!Array.isArray(references)) return references;
  return references.map((reference: unknown) => {
    if (typeof reference !== 'object' || reference === null) return reference;
    const { values: _values, generate: _generate, ...stored } = reference as Readonly<Record<string, unknown>>;
    return stored;
  });
}

function readNode(client: Client, name: string): Promise<ApiAnswer<{ readonly id: string }>> {
  return client.request<{ readonly id: string }>('GET', nodes.pathOf(name));
}

/** Fields that a user fills: the server adds nothing to them. */
const MAPS = new Set(['labels', 'environment', 'composedSecrets']);

function isSameMap(sent: unknown, stored: unknown): boolean {
  return sent === null || (isMentionedAlike(sent, stored ?? {}) && isMentionedAlike(stored ?? {}, sent));
}

/** Whether everything that was sent is so in what is stored, which may have more: the server completes what it stores. */
function isMentionedAlike(sent: unknown, stored: unknown): boolean {
  if (sent === null || sent === undefined) return true;
  if (typeof sent !== 'object' || typeof stored !== 'object' || stored === null) return sent === stored;
  if (Array.isArray(sent) !== Array.isArray(stored)) return false;
  if (Array.isArray(sent) && sent.length !== (stored as readonly unknown[]).length) return false;
  const whole = stored as Readonly<Record<string, unknown>>;
  return Object.entries(sent).every(([field, value]) => isMentionedAlike(value, whole[field]));
}

/** Why a manifest is not applied, and what to do. */
export function explainFixed(manifest: ManifestDocument, differences: readonly FieldDifference[]): string {
  const list = differences.map(({ field, stored, sent, isShown }) =>
    isShown ? `${field} is ${JSON.stringify(stored)}, and not ${JSON.stringify(sent)}` : `${field} differs`,
  );
  const kind = findAppliedKind(manifest);
  const remedy = (kind && getBehaviour(kind.descriptor).recreation) ?? RECREATION;
  return `${formatTitle(manifest)} (${manifest.place}) cannot be changed: ${list.join('; ')}. To have it so: ${remedy}.`;
}
