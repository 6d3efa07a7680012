import { isSecretKey, isSecretLabel } from './secret-path.js';

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
