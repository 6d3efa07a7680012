import { Type } from 'typebox';

import { annotate } from '../rule/index.js';

/** Most arguments of one command line. */
export const WORDS_MAX = 256;
const WORD_BYTES_MAX = 32_768;

/** One argument. The kernel would end it at its first NUL. */
export const wordSchema = Type.String({
  maxLength: WORD_BYTES_MAX,
  pattern: '^[^\\u0000]*$',
  ...annotate({ 'x-expected': 'a string without NUL, of at most 32768 characters' }),
});

/** `entrypoint` and `command`: each replaces the image's own. An empty list would mean the image's own again. */
export const wordsSchema = Type.Array(wordSchema, {
  minItems: 1,
  maxItems: WORDS_MAX,
  ...annotate({ 'x-expected': `a list of 1 to ${WORDS_MAX} strings, one per argument` }),
});
