/**
 * The small languages that fields are written in.
 *
 * Each file reads one of them: a text goes in, the value it means or `undefined` comes out. Nothing here refuses a
 * request; that is for the rules, which know what a field needs. Every expression is anchored and takes time in
 * proportion to the length of the text, whatever the text is.
 *
 *     parseDuration('1m30s')         // 90000
 *     parseImageReference('a/b:1')   // { name: 'a/b', tag: '1' }
 *     FieldPath.root.child('ports').index(0).toString()   // 'ports[0]'
 *
 * It leaves limits, defaults and wording to others.
 *
 * @module
 */
export type { TemplatePart } from './secret-path.js';
export {
  findPlaceholders,
  isRelativePath,
  isSecretKey,
  isSecretLabel,
  parseAnchor,
  parseSecretPath,
  parseTemplate,
} from './secret-path.js';
export {
  createTypedId,
  DNS_LABEL_MAX,
  DNS_LABEL_PATTERN,
  findNearestName,
  isDnsLabel,
  isDnsLabelText,
  isLabelKey,
  isLabelValue,
  isReservedLabel,
  RESERVED_LABELS,
  isSameSpelling,
  isTypedId,
} from './names.js';
export {
  formatAmount,
  formatBytes,
  formatCores,
  formatCount,
  formatFree,
  parseCpu,
  parseDuration,
  parseMemory,
} from './quantity.js';
export { formatPortRange, isPortWithin, parsePortRange, type PortRange } from './port-range.js';
export { findDotSegment } from './url-path.js';
export { escapePointer, FieldPath, unescapePointer } from './field-path.js';
export type { ImageReference } from './image-reference.js';
export { isPinned, parseImageReference, REGISTRIES, toRegistryLabel } from './image-reference.js';
export { formatAge, formatSpan } from './age.js';
