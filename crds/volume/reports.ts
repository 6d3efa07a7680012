import { Type } from 'typebox';

import { type CheckResult, createBodyCheck } from '../rule/index.js';
import type { SeenVolume } from './volume.js';

/** More volumes than a node is told of in one request of its agent. */
const REPORTED_MAX = 1_000;
const MESSAGE_MAX = 1_000;

/** `POST /agent/v1/volumes`. */
export const volumeReportsSchema = Type.Object(
  {
    volumes: Type.Array(
      Type.Object(
        {
          id: Type.String({ minLength: 1, maxLength: 63 }),
          state: Type.Enum(['ready', 'failed', 'removed'], { type: 'string' }),
          message: Type.Optional(Type.String({ maxLength: MESSAGE_MAX })),
          driver: Type.Optional(Type.String({ maxLength: 63 })),
          limits: Type.Optional(Type.String({ maxLength: MESSAGE_MAX })),
          usedBytes: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
        },
        { additionalProperties: false },
      ),
      { maxItems: REPORTED_MAX },
    ),
  },
  { additionalProperties: false },
);

/** Judges what an agent says of its volumes. */
export const checkVolumeReports: (document: unknown) => CheckResult<{ readonly volumes: readonly SeenVolume[] }> =
  createBodyCheck(volumeReportsSchema);
