import { Type } from 'typebox';

import { isPinned, parseImageReference } from '../grammar/index.js';
import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { Context } from './limits.js';

export const imageSchema = Type.String(annotate({ 'x-rules': true }));

/** One code for all that is no pinned reference: missing, malformed, `latest`, or neither tag nor digest. */
const imageIsPinned = rule('image_required', (image: unknown, at, _context: Context, refuse) => {
  const reference = typeof image === 'string' ? parseImageReference(image) : undefined;
  return reference && isPinned(reference) ? undefined : refuse(at, image);
});

export const imageRules: FieldRules<Context> = {
  field: 'image',
  absent: imageIsPinned,
  present: [imageIsPinned],
};
