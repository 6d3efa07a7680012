import { Type } from 'typebox';

import { annotate, createBodyCheck, type CheckResult } from '../rule/index.js';

const segment = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$',
  ...annotate({ 'x-expected': 'a name or an id' }),
});

/** `POST /agent/v1/environment`: an agent asks for the variables of a container that it is about to make. */
export interface EnvironmentRequest {
  /** Uid of the replica. */
  readonly replica: string;
  readonly generation: number;
  /** As it came with the assignment. */
  readonly ticket: string;
}

export const environmentRequestSchema = Type.Object(
  {
    replica: segment,
    generation: Type.Integer({ minimum: 1 }),
    ticket: Type.String({
      minLength: 1,
      maxLength: 256,
      ...annotate({ 'x-redact': true, 'x-expected': 'the ticket of the assignment' }),
    }),
  },
  { additionalProperties: false },
);

/** Checks `POST /agent/v1/environment`. */
export const checkEnvironmentRequest: (document: unknown) => CheckResult<EnvironmentRequest> =
  createBodyCheck(environmentRequestSchema);
