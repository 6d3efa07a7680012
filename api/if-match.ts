import { reject } from '../crds/rejections/index.js';
import { Refused } from './refusal.js';

/**
 * Refuses a write that was based on another revision than the stored one. The client names the revision it has seen in
 * `If-Match`, or by sending back the metadata it was given; where it names none, any will do.
 */
export function refuseUnlessMatches(
  header: string | undefined,
  metadataRevision: string | undefined,
  revision: number,
): Refused | undefined {
  const current = String(revision);
  if (header !== undefined && !matches(header, current)) {
    return new Refused(reject('revision_mismatch', 'If-Match', header, { current }));
  }
  if (metadataRevision !== undefined && metadataRevision !== current) {
    return new Refused(reject('revision_mismatch', 'metadata.revision', metadataRevision, { current }));
  }
  return undefined;
}

function matches(header: string, current: string): boolean {
  return header.split(',').some(tag => tag.trim() === '*' || tag.trim() === `"${current}"`);
}
