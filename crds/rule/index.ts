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
export { announcements } from './alteration.js';
export { annotate } from './annotations.js';
export type { Checked } from './check.js';
export { bodyCheck, refusalOf } from './check.js';
export type { Examination, Sound } from './examine.js';
export { examination, REJECTIONS_MAX } from './examine.js';
export { mapOf } from './map-of.js';
export { each, within } from './parts.js';
export type { FieldRules, Finding, Found, Refuse, Rule } from './rule.js';
export { mendedBy, rule } from './rule.js';
