import { type TProperties, Type } from 'typebox';

import { defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import { residencySchema } from '../residency/index.js';
import { volumeReplicaSchema, volumeSchema } from './admission.js';
import { volumeColumns } from './columns.js';
import { volumeMoveSchema } from './move-admission.js';
import { movePhases } from './move.js';
import { volumePhases } from './phases.js';
import { volumeReportsSchema } from './reports.js';
import { volumeResizeSchema } from './resize.js';

const text = Type.String();
const time = Type.String({ format: 'date-time' });
const orNull = <const Kind extends 'string' | 'integer'>(type: Kind) => Type.Unsafe({ type: [type, 'null'] });

const orNothing = (members: TProperties) => Type.Union([Type.Object(members), Type.Null()]);

/** What answers show of a volume. */
const answer = Type.Object({
  metadata: Type.Object({}),
  id: text,
  name: text,
  class: text,
  type: text,
  sizeBytes: Type.Integer(),
  accessMode: text,
  residency: Type.Optional(residencySchema),
  phase: Type.Enum([...volumePhases], { type: 'string' }),
  reason: text,
  message: text,
  primaryNode: orNull('string'),
  primaryNodeName: orNull('string'),
  epoch: orNull('integer'),
  wantedReplicas: Type.Integer(),
  replicas: Type.Array(
    Type.Object({
      nodeId: text,
      nodeName: orNull('string'),
      state: Type.Enum(['syncing', 'synced', 'lost'], { type: 'string' }),
      syncedAt: Type.Optional(time),
      lagBytes: Type.Optional(Type.Integer()),
      lagSeconds: Type.Optional(Type.Integer()),
      sentBytes: Type.Optional(Type.Integer()),
      totalBytes: Type.Optional(Type.Integer()),
      lastWhole: Type.Optional(Type.Object({ bytes: Type.Integer(), seconds: Type.Integer() })),
      message: Type.Optional(text),
    }),
  ),
  divergent: Type.Array(
    Type.Object({
      nodeId: text,
      nodeName: orNull('string'),
      name: text,
      epoch: Type.Integer(),
      at: time,
      isDiscarded: Type.Boolean(),
    }),
  ),
  move: orNothing({
    phase: Type.Enum([...movePhases], { type: 'string' }),
    message: text,
    from: Type.Optional(text),
    to: Type.Optional(text),
    toName: orNull('string'),
    generation: Type.Optional(Type.Integer()),
    isCopyMade: Type.Optional(Type.Boolean()),
    epoch: Type.Optional(Type.Integer()),
    stoppedAt: Type.Optional(time),
    since: time,
  }),
  lastMove: orNothing({
    from: text,
    to: text,
    generation: Type.Optional(Type.Integer()),
    epoch: Type.Optional(Type.Integer()),
    isAborted: Type.Optional(Type.Boolean()),
    message: text,
    downtimeSeconds: Type.Optional(Type.Integer()),
    at: time,
  }),
  failover: orNothing({
    mode: Type.Enum(['automatic', 'manual', 'none'], { type: 'string' }),
    writesStopAfterSeconds: Type.Optional(Type.Integer()),
    because: Type.Optional(text),
  }),
  driver: orNull('string'),
  limits: orNull('string'),
  usedBytes: orNull('integer'),
  measuredAt: orNull('string'),
  capacityBytes: orNull('integer'),
  targetBytes: orNull('integer'),
  since: orNull('string'),
  consumers: Type.Array(Type.Object({ deployment: text, readOnly: Type.Boolean() })),
});

const found = ['volume_not_found'] as const;

/** Storage that outlives containers. */
export const volumeKind = defineKind({
  kind: 'Volume',
  singular: 'volume',
  plural: 'volumes',
  shortNames: ['vol'],
  description: 'Storage that outlives containers, on the disk of one node. What mounts it runs there.',
  scope: 'tenant',
  range: 'volumes/',
  keyParts: ['tenant', 'id'],
  statusRange: 'volume-status/',
  quotas: {
    volumes: { default: 100, unit: 'count', countsRecords: true },
    volumeBytes: { default: 2 ** 40, unit: 'bytes' },
  },
  body: volumeSchema,
  answer,
  requests: {
    VolumeMoveRequest: volumeMoveSchema,
    VolumeReplicaRequest: volumeReplicaSchema,
    VolumeReports: volumeReportsSchema,
    VolumeResizeRequest: volumeResizeSchema,
  },
  kubernetes: { shortNames: ['mvol'], printed: [{ name: 'Phase', type: 'string', jsonPath: '.status.phase' }] },
  events: [
    'volume.phase_changed',
    'volume.resized',
    'volume.replicas_changed',
    'volume.replica_added',
    'volume.replica_lost',
    'volume.promoted',
    'volume.divergent',
    'volume.move_requested',
    'volume.move_started',
    'volume.move_aborted',
    'volume.move_blocked',
    'volume.moved',
    'volume.record_unusable',
  ],
  path: '/api/v1/dvm/volumes',
  item: '{id}',
  operations: ['list', 'watch', 'get', 'create', 'delete'],
  isFinalized: true,
  uses: ['node'],
  routes: {
    get: { summary: 'Shows a volume, by its id or its name', codes: found },
    create: { codes: documentCodes.volume },
    'PATCH /{id}': {
      summary: 'Changes the size of a volume, while it is in use',
      headers: ['If-Match'],
      body: 'VolumeResizeRequest',
      answer: { status: 200, component: 'Volume' },
      codes: [...documentCodes.volumeResize, ...found],
    },
    delete: {
      summary: 'Deletes a volume that nothing mounts, with its bytes',
      headers: ['If-Match'],
      codes: [...found, 'volume_in_use', 'volume_record_unusable', 'revision_mismatch', 'outcome_unknown'],
    },
  },
  nameField: 'name',
  columns: volumeColumns,
});
