import { createHash } from 'node:crypto';

import canonicalize from 'canonicalize';

/** The same for documents that mean the same: key order and spacing do not count (RFC 8785). */
export function specHash(document: unknown): string {
  return createHash('sha256')
    .update(canonicalize(document) ?? '')
    .digest('hex')
    .slice(0, 32);
}
