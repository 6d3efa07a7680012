import type { FieldPath } from '../grammar/index.js';
import {
  type ParamsOf,
  type PatchStep,
  type Rejection,
  type RejectionCode,
  reject,
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
  check: (value: Value, at: FieldPath, facts: Facts, refuse: Refuse<Code>) => RuleResult,
): Rule<Value, Facts> {
  // Written only when it is read: a hostile document earns tens of thousands, of which few are answered.
  const refuse: Refuse<Code> = (at, received, ...params) => ({
    at,
    get rejection() {
      return reject(code, at, received, ...params);
    },
  });
  return { code, check: (value, at, facts) => check(value, at, facts, refuse) };
}

/** The same finding, with the patch that would mend the request. */
export function attachFix(finding: FieldError, ...fix: readonly PatchStep[]): FieldError {
  return { ...finding, rejection: withFix(finding.rejection, ...fix) };
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
