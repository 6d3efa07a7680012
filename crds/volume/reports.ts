import { Type } from 'typebox';

import { annotate, type CheckResult, createBodyCheck } from '../rule/index.js';
import { GENERATION_ID } from './terms.js';
import type { SeenVolume } from './volume.js';

/** More volumes than are reported in one request of its agent. */
const REPORTED_MAX = 1_000;
const MESSAGE_MAX = 1_000;

/** More copies than a volume has, and more sets of divergent bytes than a node keeps. */
const LISTED_MAX = 100;

const id = Type.String({ minLength: 1, maxLength: 63 });
const message = Type.Optional(Type.String({ maxLength: MESSAGE_MAX }));
const count = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));
/** As many digits as the names of snapshots have for it. */
const epoch = Type.Integer({ minimum: 0, maximum: 9_999_999_999 });
const generationId = Type.Optional(Type.String({ pattern: `^${GENERATION_ID}$` }));
const time = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?Z$',
  ...annotate({ 'x-expected': 'a time such as 2026-01-31T12:00:00.000Z' }),
});

const copySchema = Type.Object(
  {
    nodeId: id,
    state: Type.Enum(['syncing', 'synced'], { type: 'string' }),
    syncedAt: Type.Optional(time),
    lagBytes: count,
    sentBytes: count,
    totalBytes: count,
    lastWhole: Type.Optional(
      Type.Object(
        {
          bytes: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
          seconds: Type.Integer({ minimum: 1 }),
        },
        { additionalProperties: false },
      ),
    ),
    message,
  },
  { additionalProperties: false },
);

const finalSchema = Type.Object({ epoch, snapshot: id, at: time }, { additionalProperties: false });
const divergentSchema = Type.Object({ name: id, epoch, at: time }, { additionalProperties: false });

/** `POST /agent/v1/volumes`. */
export const volumeReportsSchema = Type.Object(
  {
    volumes: Type.Array(
      Type.Object(
        {
          id,
          state: Type.Enum(['ready', 'failed', 'removed'], { type: 'string' }),
          message,
          isMissing: Type.Optional(Type.Boolean()),
          driver: Type.Optional(Type.String({ maxLength: 63 })),
          limits: Type.Optional(Type.String({ maxLength: MESSAGE_MAX })),
          usedBytes: count,
          capacityBytes: count,
          targetBytes: count,
          epoch: Type.Optional(epoch),
          generationId,
          epochProof: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
          role: Type.Optional(Type.Enum(['primary', 'replica'], { type: 'string' })),
          copies: Type.Optional(Type.Array(copySchema, { maxItems: LISTED_MAX })),
          syncedAt: Type.Optional(time),
          syncedEpoch: Type.Optional(epoch),
          syncedGenerationId: generationId,
          final: Type.Optional(finalSchema),
          divergent: Type.Optional(Type.Array(divergentSchema, { maxItems: LISTED_MAX })),
          fencesAfterSeconds: count,
          unfenced: Type.Optional(Type.Enum(['no_fencer', 'state_unwritable', 'agent_stopping'], { type: 'string' })),
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
