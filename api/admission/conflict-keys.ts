import { keys } from '../../crds/keys/index.js';
import { isTypedId } from '../../crds/grammar/index.js';
import { type Cache, encode, type Guard, type Put } from '../../pkg/store/index.js';
import { type SubmittedDocument, listDependencies, readList, listSecretPaths } from './submitted.js';

/**
 * The keys whose turn a write must take, because it is judged by what other records say: of two writes that were judged
 * by the same state only one is stored, and the other is judged afresh. Most documents take none.
 */
export function listConflictKeys(tenant: string, submitted: SubmittedDocument): readonly string[] {
  const { sends, fields } = submitted;
  const subjects = new Set<string>();
  const losesCheck = sends('healthCheck') && fields['healthCheck'] === null;
  if (losesCheck || (sends('dependsOn') && listDependencies(submitted).length > 0)) subjects.add('dependencies');
  if (sends('secrets')) for (const { label } of listSecretPaths(submitted)) subjects.add(secretSubject(label));
  if (sends('volumes') || sends('replicas') || sends('nodeId')) {
    for (const { volumeId, volume_id: alias } of readList(submitted, 'volumes')) {
      const id = volumeId ?? alias;
      if (typeof id === 'string' && isTypedId('vol', id)) subjects.add(`volume.${id}`);
    }
  }
  return [...subjects].map(subject => keys.turn(tenant, subject));
}

/** What the turn of a credential is filed under. */
export function secretSubject(label: string): string {
  return `secret.${label}`;
}

/** The guards that hold a write to the conflictKeys that it was judged at. To be read together with the facts. */
export function guardConflictKeys(cache: Cache, conflictKeys: readonly string[]): readonly Guard[] {
  return conflictKeys.map(key => ({ key, at: cache.get(key)?.revision ?? 0 }));
}

/** The puts that end those conflictKeys. They need not outlive the requests they keep apart, so they stand on a lease. */
export function putConflictKeys(conflictKeys: readonly string[], by: string, lease: string): readonly Put[] {
  return conflictKeys.map(key => ({ key, bytes: encode({ by }), lease }));
}

/**
 * Lets requests of this server that take the same turn pass one after the other, so that they need not outrun each
 * other at the store. All keys are taken at once: nobody waits for somebody who waits for him.
 */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  run<Result>(conflictKeys: readonly string[], work: () => Promise<Result>): Promise<Result> {
    return conflictKeys.length === 0 ? work() : this.#inTurn(conflictKeys, work);
  }

  async #inTurn<Result>(conflictKeys: readonly string[], work: () => Promise<Result>): Promise<Result> {
    const before = conflictKeys.flatMap(key => this.#last.get(key) ?? []);
    let leave: () => void = () => undefined;
    const left = new Promise<void>(resolve => {
      leave = resolve;
    });
    for (const key of conflictKeys) this.#last.set(key, left);
    await Promise.all(before);
    try {
      return await work();
    } finally {
      leave();
      for (const key of conflictKeys) if (this.#last.get(key) === left) this.#last.delete(key);
    }
  }
}
