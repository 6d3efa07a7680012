/**
 * What every stored object carries, whatever its kind.
 *
 * @module
 */
import { hash } from 'node:crypto';
import stringify from 'safe-stable-stringify';

import type { Reason } from '../reasons/index.js';

/** One aspect of an object's state, in the shape that Kubernetes made common. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** One word for programs. */
  readonly reason: Reason;
  /** One sentence for people. */
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

/** What clients of Kubernetes keep with an object. Only their face writes it; every other writer carries it along. */
export interface ObjectNotes {
  readonly annotations?: Readonly<Record<string, string>>;
  /** Absent until a manager has used server-side apply on it. */
  readonly fieldOwners?: FieldOwners;
}

/** One who sets fields of an object, by server-side apply or by changing it. */
export interface FieldManager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly at: string;
}

/** Who has set which field of an object. */
export interface FieldOwners {
  readonly managers: readonly FieldManager[];
  /** By pointer: the digest of what the field was when this was written, and the places of its owners among the managers. */
  readonly fields: Readonly<Record<string, readonly [digest: string, ...owners: number[]]>>;
}

/** Who an object is. Set by the server; what a client sends here is ignored and announced. */
export interface Metadata extends ObjectNotes {
  readonly tenant: string;
  /** Distinguishes it from an earlier object of the same name. */
  readonly uid: string;
  /** Counts the accepted changes of what is asked for. Starts at 1. */
  readonly generation: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly specHash: string;
  /** The span of the request that was accepted last, when that is traced: what follows from it belongs to its trace. */
  readonly traceparent?: string;
  /** Set once deletion was asked for: the object stays until everything it stood for is gone. */
  readonly deletedAt?: string;
}

/** The one text of a document: its keys are sorted, at every depth, and there are no spaces. */
export function toCanonicalText(document: object): string {
  return stringify(document);
}

/** The same for documents that mean the same: key order and spacing do not count. */
export function hashSpec(document: object): string {
  return hashText(toCanonicalText(document));
}

/** The hash of a document whose canonical text is at hand already. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}
