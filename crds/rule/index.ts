/**
 * How a document is judged: its shape by a schema, its meaning by rules.
 *
 * A rule is bound to one code and is pure: what it must know of the world is handed to it as facts. A schema says which
 * code a wrong shape earns (`annotate`). `examination` puts the two together and lists everything that is wrong, once
 * each, in one order.
 *
 *     const checkTenant = bodyCheck(tenantSchema);
 *     const checked = checkTenant(document);
 *     if (!checked.ok) return checked.rejections;
 *
 * It knows no kinds and no wording; those are in the folders of the kinds, and in `crds/rejections`.
 *
 * @module
 */
export type { Alteration, Announce, Warning } from './alteration.js';
export { recordAlterations } from './alteration.js';
export { annotate } from './annotations.js';
export type { CheckResult } from './body-check.js';
export { createBodyCheck, toRefusal } from './body-check.js';
export type { Validator, WellFormedDocument } from './validator.js';
export { createValidator, REJECTIONS_MAX } from './validator.js';
export { mapSchema } from './map-of.js';
export { forEachEntry, forPart } from './parts.js';
export type { FieldRules, FieldError, RuleResult, Refuse, Rule } from './rule.js';
export { attachFix, rule } from './rule.js';
