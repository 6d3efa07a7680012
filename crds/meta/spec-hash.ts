import { hash } from 'node:crypto';

import canonicalize from 'canonicalize';

/** The same for documents that mean the same: key order and spacing do not count (RFC 8785). */
export function specHash(document: unknown): string {
  return hash('sha256', canonicalize(document) ?? '', 'hex').slice(0, 32);
}
