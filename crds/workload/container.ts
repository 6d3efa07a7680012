import { type Static, Type } from 'typebox';

import {
  FieldPath,
  isPinned,
  parseCpu,
  parseImageReference,
  parseMemory,
  REGISTRIES,
  toRegistryLabel,
} from '../grammar/index.js';
import { type Announce, annotate, type FieldRules, fixByValue, rule, type Warning } from '../rule/index.js';
import type { ContainerDefaults, KnownImage, WorkloadContext as Context, WorkloadLimits } from './context.js';

export const imageSchema = Type.String(annotate({ 'x-rules': true }));

/** One code for all that is no pinned reference: missing, malformed, `latest`, or neither tag nor digest. */
const imageIsPinned = rule('image_required', (image: unknown, at, refuse) => {
  const reference = typeof image === 'string' ? parseImageReference(image) : undefined;
  return reference && isPinned(reference) ? undefined : refuse(at, image);
});

const imageExists = rule('image_not_found', (image: unknown, at, refuse, { facts }: Context) =>
  facts.image === 'absent' ? refuse(at, image) : undefined,
);

const registryIsAllowed = rule('image_registry_refused', (image: unknown, at, refuse, { facts }: Context) =>
  facts.image === 'refused' ? refuse(at, image) : undefined,
);

const registryCouldBeAsked = rule(
  'registry_credential_store_unavailable',
  (image: unknown, at, refuse, { facts }: Context) =>
    facts.image === 'credential_store_unavailable' ? refuse(at, image) : undefined,
);

export const imageRules: FieldRules<Context> = {
  field: 'image',
  absent: imageIsPinned,
  present: [imageIsPinned, imageExists, registryIsAllowed, registryCouldBeAsked],
};

/** An image that could not be looked for is stored all the same: the registry may be back before a node needs it. */
export function warnImage(known: KnownImage, image: string): readonly Warning[] {
  switch (known) {
    case 'unreachable': {
      const message = 'the registry could not be reached, so it is unknown whether it holds this image';
      return [{ code: 'image_registry_unreachable', field: 'image', message }];
    }
    case 'login_required': {
      const secret = toRegistrySecretName(image);
      const message = `the registry requires a login, and there is none: nodes cannot pull this image before the secret ${secret} has its host, username and password`;
      return [{ code: 'image_registry_login_required', field: 'image', message, secret }];
    }
    case 'credential_refused': {
      const secret = toRegistrySecretName(image);
      const message = `the registry refuses the login of the secret ${secret}: nodes cannot pull this image before that has the right username and password`;
      return [{ code: 'image_registry_credential_refused', field: 'image', message, secret }];
    }
    default:
      return [];
  }
}

/** Where the tenant's login for the registry of an image is looked for: `registries/registry-example-com-5000`. */
function toRegistrySecretName(image: string): string {
  const { domain } = parseImageReference(image) ?? {};
  const isHost = domain !== undefined && (/[.:A-Z]/.test(domain) || domain === 'localhost');
  return !isHost ? 'registries/<host of the registry>' : `${REGISTRIES}/${toRegistryLabel(domain)}`;
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

/** The platform bounds the processes of every container, so a tenant can only lower it. */
const PIDS_MAX = 512;

const limitsSchema = Type.Object(
  {
    cpu: Type.Optional(Type.String(byRules)),
    memory: Type.Optional(Type.String(byRules)),
    pids: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PIDS_MAX,
        ...annotate({ 'x-expected': `an integer from 1 to ${PIDS_MAX}` }),
      }),
    ),
  },
  { additionalProperties: false, ...annotate({ 'x-expected': 'an object with cpu, memory and pids' }) },
);

export const resourcesSchema = Type.Object(
  {
    cpu: Type.Optional(Type.String(byRules)),
    memory: Type.Optional(Type.String(byRules)),
    limits: Type.Optional(limitsSchema),
  },
  { additionalProperties: false, ...annotate({ 'x-expected': 'an object with cpu, memory and limits' }) },
);

/** What a replica requests of a node, which informs placement, and the limits that its container is held to. */
export type ResourceRequests = Readonly<Static<typeof resourcesSchema>>;

type SentQuantities = { readonly cpu?: unknown; readonly memory?: unknown };
type SentResources = SentQuantities & { readonly limits?: SentQuantities };

const FORMS = {
  cpu: { read: parseCpu, form: 'thousandths of a core such as 500m, or cores such as 1.5, above zero' },
  memory: { read: parseMemory, form: 'bytes with a unit such as 256Mi or 1G, above zero' },
} as const;

const checkQuantity = (part: keyof typeof FORMS, of?: 'limits') =>
  rule('resources_quantity_invalid', (resources: SentResources, root, refuse) => {
    const value = (of ? resources[of] : resources)?.[part];
    if (value === undefined) return undefined;
    const { read, form } = FORMS[part];
    const at = of ? root.child(of) : root;
    if (typeof value === 'string' && (read(value) ?? 0) > 0) {
      const request = of && resources[part];
      const isBelow = typeof request === 'string' && (read(value) ?? 0) < (read(request) ?? 0);
      return isBelow ? refuse(at.child(part), value, { form: `no less than the request of ${request}` }) : undefined;
    }
    const error = refuse(at.child(part), value, { form });
    const isMeant = typeof value === 'number' && (read(String(value)) ?? 0) > 0;
    return isMeant ? fixByValue(error, String(value)) : error;
  });

export const resourcesRules: FieldRules<Context> = {
  field: 'resources',
  present: [
    checkQuantity('cpu'),
    checkQuantity('memory'),
    checkQuantity('cpu', 'limits'),
    checkQuantity('memory', 'limits'),
  ],
};

type Defaulting = { readonly limits: Pick<WorkloadLimits, 'containerDefaults'> };

/** Adds the limits of the platform where none is named: never below the request. */
export function completeResources(
  sent: ResourceRequests | undefined,
  announce: Announce,
  { limits: { containerDefaults = {} } }: Defaulting,
): ResourceRequests | undefined {
  const { cpu, memory } = containerDefaults;
  const fallbacks = { cpu, memory: toMemoryLimit(sent?.memory, containerDefaults) ?? memory };
  const added: Record<string, string> = {};
  for (const part of ['cpu', 'memory'] as const) {
    const request = sent?.[part];
    const fallback = fallbacks[part];
    if (fallback === undefined || sent?.limits?.[part] !== undefined) continue;
    const { read } = FORMS[part];
    added[part] = request !== undefined && (read(request) ?? 0) > (read(fallback) ?? 0) ? request : fallback;
    announce(FieldPath.root.child('resources').child('limits').child(part), null, added[part], PLATFORM_DEFAULT);
  }
  return Object.keys(added).length === 0 ? sent : { ...sent, limits: { ...sent?.limits, ...added } };
}

/** The platform's share of a request, in whole mebibytes so that people can read it. */
function toMemoryLimit(request: string | undefined, { memoryPercent }: ContainerDefaults): string | undefined {
  if (request === undefined || memoryPercent === undefined) return undefined;
  const bytes = ((parseMemory(request) ?? 0) * memoryPercent) / 100;
  return `${Math.ceil(bytes / 2 ** 20)}Mi`;
}

/** Why a field has a value that no client sent. */
const PLATFORM_DEFAULT = 'default of the platform';

const ACCOUNT = '(?:[0-9]{1,9}|[a-z_][a-z0-9_-]{0,31})';

export const userSchema = Type.String({
  pattern: `^${ACCOUNT}(?::${ACCOUNT})?$`,
  ...annotate({ 'x-expected': 'a user, and a group after a colon, by id or name, such as 1000:1000' }),
});

/** Whether a text is a user, as `userSchema` demands. */
export function isContainerUser(text: string): boolean {
  return new RegExp(`^${ACCOUNT}(?::${ACCOUNT})?$`).test(text);
}

/** Whether a user is named by its number, and is not root: who needs no file of the image to know that. */
export function isNumericUser(text: string): boolean {
  return /^0{0,8}[1-9][0-9]{0,8}(?::[0-9]{1,9})?$/.test(text);
}

export const userRules: FieldRules<Context> = { field: 'user', present: [] };

export const readOnlySchema = Type.Boolean();

export const readOnlyRules: FieldRules<Context> = { field: 'readOnlyRootFilesystem', present: [] };

export function completeUser(sent: string | undefined, announce: Announce, { limits }: Defaulting): string | undefined {
  const fallback = limits.containerDefaults?.user;
  if (sent !== undefined || fallback === undefined) return sent;
  announce('user', null, fallback, PLATFORM_DEFAULT);
  return fallback;
}

export function completeReadOnly(
  sent: boolean | undefined,
  announce: Announce,
  { limits }: Defaulting,
): boolean | undefined {
  if (sent !== undefined || !limits.containerDefaults?.readOnlyRootFilesystem) return sent;
  announce('readOnlyRootFilesystem', null, true, PLATFORM_DEFAULT);
  return true;
}
