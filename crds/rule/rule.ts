import type { FieldPath } from '../grammar/index.js';
import {
  type ParamsOf,
  type PatchStep,
  reject,
  type Rejection,
  type RejectionCode,
  withFix,
} from '../rejections/index.js';

/** A rejection together with the place it is about. */
export interface FieldError {
  readonly at: FieldPath;
  readonly rejection: Rejection;
}

/** Reports one refused value. The code is already fixed by the rule. */
export type Refuse<Code extends RejectionCode> = (
  at: FieldPath,
  received: unknown,
  ...params: ParamsOf<Code>
) => FieldError;

/** What a check found: nothing, one thing, or one thing for each entry of a map or list. */
export type RuleResult = FieldError | readonly FieldError[] | undefined;

/** One check of one value, able to refuse with one code and no other. */
export interface Rule<Value, Facts = unknown> {
  readonly code: RejectionCode;
  check(value: Value, at: FieldPath, facts: Facts): RuleResult;
}

/** Ties a check to the single code it may refuse with. */
export function rule<Code extends RejectionCode, Value, Facts>(
  code: Code,
  check: (value: Value, at: FieldPath, refuse: Refuse<Code>, facts: Facts) => RuleResult,
): Rule<Value, Facts> {
  // Written only when it is read: a hostile document earns tens of thousands, of which few are answered.
  const refuse: Refuse<Code> = (at, received, ...params) => ({
    at,
    get rejection() {
      return reject(code, at, received, ...params);
    },
  });
  return { code, check: (value, at, facts) => check(value, at, refuse, facts) };
}

/** The same error, with the patch that makes the request acceptable. */
export function attachFix(error: FieldError, ...fix: readonly PatchStep[]): FieldError {
  return { ...error, rejection: withFix(error.rejection, ...fix) };
}

/** The same error, with the removal of its field as the fix. */
export function fixByRemoval(error: FieldError): FieldError {
  return attachFix(error, { op: 'remove', path: error.at.toPointer() });
}

/** The same error, with another value for its field as the fix. */
export function fixByValue(error: FieldError, value: unknown): FieldError {
  return attachFix(error, { op: 'replace', path: error.at.toPointer(), value });
}

/** The rules of one field, in the order a client should learn of them. */
export interface FieldRules<Facts> {
  readonly field: string;
  /** Other fields that these rules look at: they are asked when one of those changes, too. */
  readonly with?: readonly string[];
  /** Asked when the field was not sent. */
  readonly absent?: Rule<undefined, Facts>;
  /** Asked when it was. */
  readonly present: readonly Rule<never, Facts>[];
}

type Holder = Readonly<Record<string, unknown>>;

/** The rule of a part, for the object that holds the part. Silent when the part is not there. */
export function forPart<Value, Facts>(part: string, inner: Rule<Value, Facts>): Rule<Holder, Facts> {
  return {
    code: inner.code,
    check: (holder, at, facts) => {
      const value = holder[part];
      return value === undefined ? undefined : inner.check(value as Value, at.child(part), facts);
    },
  };
}

/** Errors of one rule in one list: as many as an answer can hold, so that a hostile list costs no more than that. */
const FOUND_MAX = 200;

/** The rule of an entry, for the list that holds the entries. */
export function forEachEntry<Value, Facts>(inner: Rule<Value, Facts>): Rule<readonly Value[], Facts> {
  return {
    code: inner.code,
    check: (list, at, facts) => {
      const found: FieldError[] = [];
      for (let position = 0; position < list.length; position++) {
        const more = inner.check(list[position]!, at.index(position), facts);
        if (more !== undefined) found.push(...('rejection' in more ? [more] : more.slice(0, FOUND_MAX)));
        if (found.length >= FOUND_MAX) break;
      }
      return found;
    },
  };
}

/** Something the server stored that the client did not send, or did not store although the client sent it. */
export interface Alteration {
  readonly field: string;
  /** What was sent; null for nothing. */
  readonly from: unknown;
  /** What is stored; null for nothing. */
  readonly to: unknown;
  readonly why: string;
}

/** Something that was stored as asked, although it may not do what was meant. */
export interface Warning {
  readonly code: string;
  readonly field: string;
  readonly message: string;
  /** `residency_no_matching_node`: what the tenant's nodes report instead. */
  readonly advertised?: readonly string[];
  /** `image_registry_login_required`, `image_registry_credential_refused`: the path of the secret that the login is read from. */
  readonly secret?: string;
}

/** Notes one difference between what was sent and what is to be stored. */
export type Announce = (field: { toString(): string }, from: unknown, to: unknown, why: string) => void;

/** A list of alterations, and the function that adds to it. */
export function recordAlterations(): { readonly alterations: readonly Alteration[]; readonly announce: Announce } {
  const alterations: Alteration[] = [];
  const announce: Announce = (field, from, to, why) => {
    alterations.push({ field: field.toString(), from: from ?? null, to: to ?? null, why });
  };
  return { alterations, announce };
}
