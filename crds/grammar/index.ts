/**
 * The small languages that fields are written in.
 *
 * Each file reads one of them: a text goes in, the value it means or `undefined` comes out. Nothing here refuses a
 * request; that is for the rules, which know what a field needs. Every expression is anchored and takes time in
 * proportion to the length of the text, whatever the text is.
 *
 *     toMillis('1m30s')              // 90000
 *     parseImageReference('a/b:1')   // { name: 'a/b', tag: '1' }
 *     FieldPath.root.child('ports').index(0).toString()   // 'ports[0]'
 *
 * It leaves limits, defaults and wording to others.
 *
 * @module
 */
export type { Anchor } from './anchor.js';
export { parseAnchor } from './anchor.js';
export { DNS_LABEL_MAX, isDnsLabel, isDnsLabelText } from './dns-label.js';
export { parseDuration } from './duration.js';
export { FieldPath, escapePointer } from './field-path.js';
export type { ImageReference } from './image-reference.js';
export { isPinned, parseImageReference } from './image-reference.js';
export { isLabelKey, isLabelValue } from './label.js';
export { isSameSpelling, findNearestName } from './nearest-name.js';
export { formatAmount, formatBytes, formatCores, formatFree, parseCpu, parseMemory } from './quantity.js';
export type { SecretPath } from './secret-path.js';
export { isRelativePath, isSecretKey, isSecretLabel, parseSecretPath } from './secret-path.js';
export type { TemplatePart } from './template.js';
export { parseTemplate, findPlaceholders } from './template.js';
export type { IdPrefix } from './typed-id.js';
export { isTypedId, createTypedId } from './typed-id.js';
