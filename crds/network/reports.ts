import { Type } from 'typebox';

import { type CheckResult, createBodyCheck } from '../rule/index.js';
import type { SeenNetwork } from './network.js';

/** More networks than are reported in one request of its agent. */
const REPORTED_MAX = 1_000;
const MESSAGE_MAX = 1_000;

/** `POST /agent/v1/networks`. */
export const networkReportsSchema = Type.Object(
  {
    networks: Type.Array(
      Type.Object(
        {
          uid: Type.String({ minLength: 1, maxLength: 63 }),
          state: Type.Enum(['ready', 'failed'], { type: 'string' }),
          message: Type.Optional(Type.String({ maxLength: MESSAGE_MAX })),
        },
        { additionalProperties: false },
      ),
      { maxItems: REPORTED_MAX },
    ),
  },
  { additionalProperties: false },
);

/** What an agent has seen of the networks of its node. */
export interface NetworkReports {
  readonly networks: readonly SeenNetwork[];
}

/** Judges what an agent says of its networks. */
export const checkNetworkReports: (document: unknown) => CheckResult<NetworkReports> =
  createBodyCheck(networkReportsSchema);
