import { rejectRequest, type RequestRejection } from '../http/reply.js';

/**
 * Refuses a write that was based on another revision than the stored one, or on one of an object that is not there any more. The
 * client names the revision that it has seen in `If-Match`, or by sending back the metadata that it was given; where it names none, any will do.
 */
export function checkIfMatch(
  header: string | undefined,
  metadataRevision: string | undefined,
  stored: { readonly revision: number } | undefined,
): RequestRejection | undefined {
  const current = stored ? String(stored.revision) : 'none';
  if (header !== undefined && (!stored || !matches(header, current))) {
    return rejectRequest('revision_mismatch', 'If-Match', header, { current });
  }
  if (metadataRevision !== undefined && metadataRevision !== current) {
    return rejectRequest('revision_mismatch', 'metadata.revision', metadataRevision, { current });
  }
  return undefined;
}

/** A revision without quotes is no entity tag, but what the body of an answer shows, and nothing else can be meant. */
function matches(header: string, current: string): boolean {
  return header
    .split(',')
    .map(tag => tag.trim())
    .some(tag => tag === '*' || tag === current || tag === `"${current}"`);
}
