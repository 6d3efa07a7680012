import type { SecretWrite } from '../../crds/secret/index.js';
import type { Random } from '../clock/index.js';
import { documentOf, generateDocument, type SecretDocument } from '../secrets/index.js';

/**
 * What a credential holds once a write is made: given and generated keys over those that are there. The same
 * document when that changes nothing.
 */
export function mergedDocument(
  existing: SecretDocument | undefined,
  { values, generation }: Pick<SecretWrite, 'values' | 'generation'>,
  random: Random,
): SecretDocument {
  const merged = new Map(existing);
  const minted: SecretDocument = generation ? generateDocument(generation, random) : new Map();
  let differs = false;
  for (const [key, secret] of [...documentOf(values), ...minted]) {
    if (!existing?.get(key)?.equals(secret)) differs = true;
    merged.set(key, secret);
  }
  return differs || !existing ? merged : existing;
}
