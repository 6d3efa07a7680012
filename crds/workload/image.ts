import { Type } from 'typebox';

import { isPinned, parseImageReference } from '../grammar/index.js';
import { annotate, type FieldRules, rule, type Warning } from '../rule/index.js';
import type { WorkloadContext as Context, KnownImage } from './context.js';

export const imageSchema = Type.String(annotate({ 'x-rules': true }));

/** One code for all that is no pinned reference: missing, malformed, `latest`, or neither tag nor digest. */
const imageIsPinned = rule('image_required', (image: unknown, at, _context: Context, refuse) => {
  const reference = typeof image === 'string' ? parseImageReference(image) : undefined;
  return reference && isPinned(reference) ? undefined : refuse(at, image);
});

const imageExists = rule('image_not_found', (image: unknown, at, { facts }: Context, refuse) =>
  facts.image === 'absent' ? refuse(at, image) : undefined,
);

const registryCouldBeAsked = rule(
  'registry_credential_store_unavailable',
  (image: unknown, at, { facts }: Context, refuse) =>
    facts.image === 'credential_store_unavailable' ? refuse(at, image) : undefined,
);

export const imageRules: FieldRules<Context> = {
  field: 'image',
  absent: imageIsPinned,
  present: [imageIsPinned, imageExists, registryCouldBeAsked],
};

/** An image that could not be looked for is stored all the same: the registry may be back before a node needs it. */
export function warnImage(known: KnownImage): readonly Warning[] {
  if (known !== 'unreachable') return [];
  const message = 'the registry could not be reached, so nobody knows yet whether it holds this image';
  return [{ code: 'image_registry_unreachable', field: 'image', message }];
}
