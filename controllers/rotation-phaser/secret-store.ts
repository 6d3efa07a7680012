import type { RotationRecord } from '../../crds/rotation/index.js';
import type { Generation } from '../../crds/secret/index.js';
import type { Random } from '../../pkg/clock/index.js';
import { mergeDocument } from '../../pkg/material/index.js';
import {
  type CredentialPath,
  type SecretDocument,
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  type SecretStore,
  SecretStoreRefusedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../../pkg/secrets/index.js';

/** What a rotation waits for when the policy of the secrets store denies access. */
export const FORBIDDEN = 'access: the policy of the secrets store denies this path to the platform';

/** What a rotation waits for when its staged version is missing. */
export const GONE = 'abort: the staged version was destroyed outside this rotation';

/** What a rotation waits for after a failure of the secrets store. Undefined for an unexpected failure. */
export function describeSecretFault(thrown: unknown): string | undefined {
  if (thrown instanceof SecretStoreUnavailableFault || thrown instanceof SecretOutcomeUnknownFault) {
    return 'the secrets store, which cannot be reached';
  }
  if (thrown instanceof UnreadableSecretFault)
    return 'a readable secret: the stored one cannot be decrypted with the present keys';
  if (thrown instanceof SecretDocumentFault || thrown instanceof SecretStoreRefusedFault) {
    return 'abort: the secrets store refuses the new version';
  }
  return undefined;
}

/** 256 bits a value, as text that needs no quoting anywhere. */
const USUAL = { by: 'bytes', bytes: 32, encoding: 'base64url' } as const;

/**
 * Makes new material and stages it as the version that the rotation was promised. Written once: a version of that number
 * that is there already is left as it is.
 */
export async function mintMaterial(
  secrets: SecretStore,
  path: CredentialPath,
  { from, to, material }: RotationRecord,
  random: Random,
): Promise<'written' | 'conflict' | 'forbidden'> {
  const reading = from > 0 ? await secrets.read(path, from) : undefined;
  if (reading?.kind === 'forbidden') return 'forbidden';
  const present = reading?.kind === 'found' ? reading.document : undefined;
  const recipe = material.by === 'platform' ? material.generation : undefined;
  const document = mergeDocument(present, { values: {}, generation: recipe ?? everyKeyOf(present) }, random);
  return (await secrets.write(path, { document, after: to - 1, as: 'pending' })).kind;
}

function everyKeyOf(document: SecretDocument | undefined): Generation {
  return { keys: [...(document?.keys() ?? [])], ...USUAL };
}
