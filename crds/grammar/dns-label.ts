/** Longest DNS label. */
export const DNS_LABEL_MAX = 63;

const TEXT = /^[a-z](?:[a-z0-9-]*[a-z0-9])?$/;

/** Whether the characters are those of a name, however many there are. */
export function isDnsLabelText(text: string): boolean {
  return TEXT.test(text);
}

/** Lowercase letters, digits and hyphens, from a letter to a letter or digit, at most 63. */
export function isDnsLabel(text: string): boolean {
  return text.length <= DNS_LABEL_MAX && isDnsLabelText(text);
}
