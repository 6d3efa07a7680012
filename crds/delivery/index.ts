/**
 * How a container gets its secrets, or why it does not.
 *
 * A deployment whose references do not all resolve has a record at `unresolved/<tenant>/<deployment>`, for as long as the
 * cause stands. An agent that is about to make a container asks for its variables with a ticket, once; who was given what,
 * in numbers, is kept at `deliveries/<tenant>/<deployment>/<replica>`. No record here has a place for a value.
 *
 *     const checked = checkEnvironmentRequest(document);
 *
 * Looking up secrets is for `pkg/secrets`, tickets are for `pkg/link`.
 *
 * @module
 */
import { type Static, Type } from 'typebox';

import type { Reason } from '../reasons/index.js';
import { annotate, createBodyCheck } from '../rule/index.js';

/** One time that the variables of a replica were given out. */
export interface DeliveryUse {
  /** The public part of the ticket. */
  readonly ticket: string;
  readonly at: string;
  /** By vault path. */
  readonly versions: Readonly<Record<string, number>>;
}

/**
 * `deliveries/<tenant>/<deployment>/<replica>`: what was given out for one replica. Written by the API before a value
 * leaves; removed by the secret resolver when the replica is gone.
 */
export interface Delivery {
  readonly replica: string;
  readonly nodeId: string;
  /** Every one whose ticket might come again, the oldest first. */
  readonly uses: readonly DeliveryUse[];
  /** Id of the event about a ticket used twice, if there was one. */
  readonly repeated?: string;
}

/** Why secrets cannot be had, in one word. */
export const unresolvedReasons = [
  'secret_forbidden',
  'secret_missing',
  'secret_store_unavailable',
  'secret_unreadable',
  'secret_undeliverable',
] as const satisfies readonly Reason[];

export type UnresolvedReason = (typeof unresolvedReasons)[number];

/** `unresolved/<tenant>/<deployment>`: why replicas have no secrets, and so no container. Written by the secret resolver. */
export interface UnresolvedRecord {
  /** Of the deployment. */
  readonly uid: string;
  readonly reason: UnresolvedReason;
  /** For people: which path, which key. Never a value. */
  readonly message: string;
  /** Replicas that wait. */
  readonly replicas: number;
  readonly since: string;
  readonly lastSeenAt: string;
  /** Id of the event that stands for the cause. */
  readonly event: string;
}

const segment = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$',
  ...annotate({ 'x-expected': 'a name or an id' }),
});

/** `POST /agent/v1/environment`: an agent requests the variables of a container that it is about to create. */
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

export type EnvironmentRequest = Static<typeof environmentRequestSchema>;

/** Checks `POST /agent/v1/environment`. */
export const checkEnvironmentRequest = createBodyCheck(environmentRequestSchema);
