import { alphabets, type Generation } from '../../crds/secret/index.js';
import type { Random } from '../clock/index.js';
import { Secret } from './secret.js';
import type { SecretDocument } from './secret-store.js';

const BYTE_VALUES = 256;

/** Bits of chance in one value that is made so. */
export function entropyOf(generation: Generation): number {
  return generation.by === 'bytes'
    ? generation.bytes * Math.log2(BYTE_VALUES)
    : generation.length * Math.log2(alphabets[generation.charset].length);
}

/** A new value for each key, each drawn by itself. `random` must be the system's. */
export function generateDocument(generation: Generation, random: Random): SecretDocument {
  return new Map(generation.keys.map(key => [key, generateSecret(generation, random)]));
}

function generateSecret(generation: Generation, random: Random): Secret {
  if (generation.by === 'bytes') return new Secret(random.bytes(generation.bytes).toString(generation.encoding));
  return new Secret(drawn(alphabets[generation.charset], generation.length, random));
}

/**
 * Characters drawn evenly. A byte beyond the last whole round of the alphabet is thrown away: taking it modulo the
 * alphabet would favour the first characters.
 */
function drawn(alphabet: string, length: number, random: Random): string {
  const rounds = BYTE_VALUES - (BYTE_VALUES % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random.bytes(length - text.length)) if (byte < rounds) text += alphabet[byte % alphabet.length];
  }
  return text;
}
