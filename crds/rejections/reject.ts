import type { FieldPath } from '../grammar/index.js';
import { getEntry, type ParamsOf, type RejectionCode } from './catalogue.js';
import { describeValue, quoteValue } from './received.js';
import type { PatchStep, Rejection } from './rejection.js';

/** Builds the record for one refused value. Nothing else in the code base writes one by hand. */
export function reject<Code extends RejectionCode>(
  code: Code,
  at: FieldPath | string,
  received: unknown,
  ...params: ParamsOf<Code>
): Rejection {
  const { status, expected, why, echo } = getEntry(code);
  const given = (params as readonly unknown[])[0];
  return {
    code,
    status: typeof status === 'function' ? status(given) : status,
    field: at.toString(),
    received: echo === 'never' ? describeValue(received) : quoteValue(received),
    expected: typeof expected === 'function' ? expected(given) : expected,
    why,
    doc: `/docs/codes/${code}`,
  };
}

/** The same refusal of a value that may be a credential: described, whatever the code says. */
export function redactReceived(rejection: Rejection, received: unknown): Rejection {
  return { ...rejection, received: describeValue(received) };
}

/** The same refusal, with the patch that would mend the request. */
export function withFix(rejection: Rejection, ...fix: readonly PatchStep[]): Rejection {
  return { ...rejection, fix };
}
