/**
 * The janitor: finishes what a process that died has left half done.
 *
 * Now that is secret material which came with a record: an intent says how far it got, and either the record was stored
 * and its versions become current, or it can no longer be and exactly they are destroyed.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import { finishIntent } from './reconcile.js';

/** The loop. */
export function janitor(secrets: SecretStore): Loop {
  return {
    name: 'janitor',
    wakes: [{ prefix: ranges.intents, keys: ({ key }) => [key] }],
    reconcile: finishIntent(secrets),
    concurrency: 4,
  };
}
