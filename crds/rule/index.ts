/**
 * Validation of documents: their shape by a schema, their meaning by rules.
 *
 * A rule is bound to one code and is pure: everything else it needs is handed to it as facts. A schema says which
 * code a wrong shape earns (`annotate`). `createValidator` puts the two together and lists everything that is wrong, once
 * each, in one order. A `Field` holds all that is true of one field of a kind; a table of them makes schema, rules and
 * completion.
 *
 *     const checkTenant = createBodyCheck(tenantSchema);
 *     const checked = checkTenant(document);
 *     if (!checked.ok) return checked.rejections;
 *
 * It knows no kinds and no wording; those are in the folders of the kinds, and in `crds/rejections`.
 *
 * @module
 */
export type { Alteration, Announce, FieldError, FieldRules, Refuse, Rule, Warning } from './rule.js';
export { attachFix, fixByRemoval, fixByValue, forEachEntry, forPart, recordAlterations, rule } from './rule.js';
export type { Relation } from './relation.js';
export { isBroken, toCel } from './relation.js';
export type { Field, FieldTable } from './field.js';
export { createCompletion, listFieldRules, toFieldSchema } from './field.js';
export { annotate, dnsLabelSchema, labelsSchema, mapSchema, nodeReferenceSchema } from './annotations.js';
export type { Admission, Admitted, CheckResult, WellFormedDocument } from './validator.js';
export { createBodyCheck, createValidator, toCheckFailure } from './validator.js';
