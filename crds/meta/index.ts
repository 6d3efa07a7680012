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

/** Who an object is. Set by the server; what a client sends here is ignored and announced. */
export interface Metadata {
  readonly tenant: string;
  /** Told apart from an earlier object of the same name by this. */
  readonly uid: string;
  /** Counts the accepted changes of what is asked for. Starts at 1. */
  readonly generation: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly specHash: string;
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
