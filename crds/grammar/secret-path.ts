import { DNS_LABEL_MAX } from './dns-label.js';

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
