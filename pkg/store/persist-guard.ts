import { guardPersisted } from '../../crds/secret/index.js';
import { SecretMaterialFault } from './faults.js';
import type { Put } from './store.js';

/** Every spelling of these names in JSON that our own encoder makes: other records are not even parsed. */
const MARKS = /"(?:values|generate)":/;

/**
 * Throws when a record still carries secret material: values, or the order to generate some.
 *
 * It stands where every change of every process passes, so that no path around admission can store a credential.
 */
export function rejectSecretMaterial(puts: readonly Put[]): void {
  for (const { key, bytes } of puts) {
    if (!MARKS.test(bytes.toString('latin1'))) continue;
    const rejection = guardPersisted(JSON.parse(bytes.toString('utf8')));
    if (rejection) throw new SecretMaterialFault(key, rejection);
  }
}
