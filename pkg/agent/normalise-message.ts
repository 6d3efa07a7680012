const MESSAGE_MAX = 300;

/**
 * What differs between two messages about the same cause, and what it is replaced by. The order matters: a longer form
 * comes before the ones that would match a part of it.
 */
const volatile: readonly (readonly [form: RegExp, replacement: string])[] = [
  [/\p{Cc}+/gu, ' '],
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?/g, '<time>'],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>'],
  [/\b(?:0x)?[0-9a-f]{12,128}\b/gi, '<id>'],
  [/\b0x[0-9a-f]{1,16}\b/gi, '<id>'],
  [/\[(?!::\])[0-9a-f:]{2,45}\]:\d{1,5}/gi, '<address>'],
  [/\b(?!0\.0\.0\.0:)\d{1,3}(?:\.\d{1,3}){3}:\d{1,5}\b/g, '<address>'],
  [/\b(?:pid|process)[ =:]\d{1,10}\b/gi, '<process>'],
  [/\/proc\/\d{1,10}\//g, '/proc/<process>/'],
  [/\b\d{1,10}(?:\.\d{1,9})?(?:ns|µs|us|ms|s)\b/g, '<duration>'],
];

/**
 * Makes two messages about the same cause equal: ids, addresses with a port (0.0.0.0 stays: it shows which port is taken), times, durations and process ids are replaced,
 * and control characters become spaces. Reports that differ in nothing else are then not written again.
 */
export function normaliseMessage(message: string): string {
  let text = message.slice(0, 4 * MESSAGE_MAX);
  for (const [form, replacement] of volatile) text = text.replace(form, replacement);
  return text.slice(0, MESSAGE_MAX);
}
