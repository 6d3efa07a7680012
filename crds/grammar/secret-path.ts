import { DNS_LABEL_MAX, isTypedId } from './names.js';

/** `<namespace>/<label>`: where in a tenant's secrets a credential lies. */
export interface SecretPath {
  readonly namespace: string;
  /** Everything after the first slash; a label when `isSecretLabel` says so. */
  readonly label: string;
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KEY_MAX = 128;

/** The two parts of a path, as they are written; undefined when there is no slash, or nothing before it. */
export function parseSecretPath(text: string): SecretPath | undefined {
  const slash = text.indexOf('/');
  return slash < 1 ? undefined : { namespace: text.slice(0, slash), label: text.slice(slash + 1) };
}

/** Whether a path stays where it starts: no leading slash, no `..` element. */
export function isRelativePath(text: string): boolean {
  return !text.startsWith('/') && !text.split('/').includes('..');
}

/** The label of a credential: lowercase letters, digits and inner hyphens, 1 to 63. */
export function isSecretLabel(text: string): boolean {
  return text.length <= DNS_LABEL_MAX && LABEL.test(text);
}

/** A key inside a credential's document: shaped like an environment variable, at most 128. */
export function isSecretKey(text: string): boolean {
  return text.length <= KEY_MAX && KEY.test(text);
}

/** One piece of a composed secret: text as it stands, or a key of a credential to be put in. */
export type TemplatePart = { readonly text: string } | { readonly resource: string; readonly key: string };

const OPEN = '{{';
const CLOSE = '}}';
const LONGEST = 256;

/**
 * Reads a composed secret; undefined when something begins like a placeholder and is none.
 *
 * Closing braces alone are text: `{"a": {"b": "{{secret.db.user}}"}}` is sound.
 */
export function parseTemplate(template: string): readonly TemplatePart[] | undefined {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let open = template.indexOf(OPEN); open >= 0; open = template.indexOf(OPEN, from)) {
    const close = template.slice(open, open + LONGEST).indexOf(CLOSE);
    const placeholder = close < 0 ? undefined : placeholderIn(template.slice(open + OPEN.length, open + close));
    if (!placeholder) return undefined;
    if (open > from) parts.push({ text: template.slice(from, open) });
    parts.push(placeholder);
    from = open + close + CLOSE.length;
  }
  if (from < template.length) parts.push({ text: template.slice(from) });
  return parts;
}

/** The placeholders of a template that was read. */
export function findPlaceholders(parts: readonly TemplatePart[]): readonly { resource: string; key: string }[] {
  return parts.filter(part => 'resource' in part);
}

function placeholderIn(text: string): { resource: string; key: string } | undefined {
  const [word, resource = '', key = '', ...more] = text.split('.');
  if (word !== 'secret' || more.length > 0) return undefined;
  return isSecretLabel(resource) && isSecretKey(key) ? { resource, key } : undefined;
}

/** What a credential lives as long as. */
export type Anchor =
  | { readonly to: 'process' }
  | { readonly to: 'external' }
  | { readonly to: 'volume'; readonly volumeId: string };

const VOLUME = /^volume\(([a-z0-9_]{1,64})\)$/;

/** Reads `process`, `external` or `volume(vol_…)`; undefined for anything else. */
export function parseAnchor(text: string): Anchor | undefined {
  if (text === 'process' || text === 'external') return { to: text };
  const volumeId = VOLUME.exec(text)?.[1];
  return volumeId !== undefined && isTypedId('vol', volumeId) ? { to: 'volume', volumeId } : undefined;
}
