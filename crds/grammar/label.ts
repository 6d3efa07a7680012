const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const PREFIX_PART = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const PREFIX_MAX = 253;
const NAME_MAX = 63;

/** A label's key: a name, or a DNS name and `/` before it. */
export function isLabelKey(text: string): boolean {
  if (text.length > PREFIX_MAX + 1 + NAME_MAX) return false;
  const slash = text.indexOf('/');
  if (slash < 0) return isName(text);
  const prefix = text.slice(0, slash);
  return prefix.length <= PREFIX_MAX && prefix.split('.').every(isPrefixPart) && isName(text.slice(slash + 1));
}

/** A label's value: empty, or a name. */
export function isLabelValue(text: string): boolean {
  return text === '' || isName(text);
}

function isName(text: string): boolean {
  return text.length <= NAME_MAX && NAME.test(text);
}

function isPrefixPart(text: string): boolean {
  return text.length <= NAME_MAX && PREFIX_PART.test(text);
}
