import { type Static, Type } from 'typebox';

import { isPinned, parseCpu, parseImageReference, parseMemory } from '../grammar/index.js';
import { annotate, type FieldRules, fixByValue, rule, type Warning } from '../rule/index.js';
import type { KnownImage, WorkloadContext as Context } from './context.js';

export const imageSchema = Type.String(annotate({ 'x-rules': true }));

/** One code for all that is no pinned reference: missing, malformed, `latest`, or neither tag nor digest. */
const imageIsPinned = rule('image_required', (image: unknown, at, refuse) => {
  const reference = typeof image === 'string' ? parseImageReference(image) : undefined;
  return reference && isPinned(reference) ? undefined : refuse(at, image);
});

const imageExists = rule('image_not_found', (image: unknown, at, refuse, { facts }: Context) =>
  facts.image === 'absent' ? refuse(at, image) : undefined,
);

const registryCouldBeAsked = rule(
  'registry_credential_store_unavailable',
  (image: unknown, at, refuse, { facts }: Context) =>
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
  const message = 'the registry could not be reached, so it is unknown whether it holds this image';
  return [{ code: 'image_registry_unreachable', field: 'image', message }];
}

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

const byRules = annotate({ 'x-rules': true });

export const resourcesSchema = Type.Object(
  { cpu: Type.Optional(Type.String(byRules)), memory: Type.Optional(Type.String(byRules)) },
  { additionalProperties: false, ...annotate({ 'x-expected': 'an object with cpu and memory' }) },
);

/** What a replica requests of a node: it informs placement; nothing is reserved. */
export type ResourceRequests = Readonly<Static<typeof resourcesSchema>>;

type SentResources = { readonly [Part in keyof ResourceRequests]?: unknown };

const FORMS = {
  cpu: { read: parseCpu, form: 'thousandths of a core such as 500m, or cores such as 1.5, above zero' },
  memory: { read: parseMemory, form: 'bytes with a unit such as 256Mi or 1G, above zero' },
} as const;

const checkQuantity = (part: keyof typeof FORMS) =>
  rule('resources_quantity_invalid', (resources: SentResources, at, refuse) => {
    const value = resources[part];
    if (value === undefined) return undefined;
    const { read, form } = FORMS[part];
    if (typeof value === 'string' && (read(value) ?? 0) > 0) return undefined;

    const error = refuse(at.child(part), value, { form });
    const isMeant = typeof value === 'number' && (read(String(value)) ?? 0) > 0;
    return isMeant ? fixByValue(error, String(value)) : error;
  });

export const resourcesRules: FieldRules<Context> = {
  field: 'resources',
  present: [checkQuantity('cpu'), checkQuantity('memory')],
};

const NETWORKS_MAX = 16;

export const networksSchema = Type.Array(
  Type.String({ minLength: 1, maxLength: 63, ...annotate({ 'x-expected': 'the name of a network' }) }),
  { maxItems: NETWORKS_MAX, ...annotate({ 'x-expected': `a list of at most ${NETWORKS_MAX} names of networks` }) },
);

const networksExist = rule('network_not_found', (names: readonly string[], at, refuse, { facts }: Context) =>
  names.flatMap((name, position) =>
    facts.networks.includes(name) ? [] : refuse(at.index(position), name, { known: facts.networks }),
  ),
);

const networksAreDistinct = rule('field_invalid', (names: readonly string[], at, refuse) =>
  names.flatMap((name, position) =>
    names.indexOf(name) === position ? [] : refuse(at.index(position), name, { wanted: 'each network once' }),
  ),
);

export const networksRules: FieldRules<Context> = { field: 'networks', present: [networksExist, networksAreDistinct] };
