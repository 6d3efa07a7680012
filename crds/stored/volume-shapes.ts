import { movePhases, volumePhases } from '../volume/index.js';
import { count, expect, flag, list, name, object, segment, text, time } from './repair.js';
import { LONG_AGO, maybe, metadata, UNUSABLE } from './shapes.js';

export const volume = object({
  metadata,
  id: segment(1),
  name: text(UNUSABLE),
  class: text('object'),
  type: text('tmpfs'),
  sizeBytes: count(0),
  accessMode: text('ReadWriteOnce'),
  replicas: maybe(count(0)),
  primaryNode: maybe(name(UNUSABLE)),
  residency: maybe(object({})),
  replicaNodes: maybe(list(name(UNUSABLE))),
  excludedNodes: maybe(list(name(UNUSABLE))),
  abandonedNodes: maybe(list(name(UNUSABLE))),
  discarded: maybe(list(object({ nodeId: name(UNUSABLE), name: text(''), at: time(LONG_AGO) }))),
  move: maybe(object({ nodeId: name(UNUSABLE), generation: count(0), at: time(LONG_AGO) })),
});

const phase = expect(value => volumePhases.some(known => known === value), 'a phase')('Pending');
const movePhase = expect(value => movePhases.some(known => known === value), 'a phase of a move')('Blocked');

const copies = list(
  object({
    nodeId: name(UNUSABLE),
    state: text('lost'),
    syncedAt: maybe(time(LONG_AGO)),
    lagBytes: maybe(count(0)),
    sentBytes: maybe(count(0)),
    totalBytes: maybe(count(0)),
    lastWhole: maybe(object({ bytes: count(0), seconds: count(0) })),
    message: maybe(text('')),
    failingSince: maybe(time(LONG_AGO)),
  }),
);

const divergentMembers = { name: text(''), epoch: count(0), at: time(LONG_AGO) };

export const volumeStatus = object({
  id: segment(1),
  phase,
  reason: text('record_unusable'),
  message: text(''),
  primaryNode: maybe(name(UNUSABLE)),
  epoch: maybe(count(0)),
  lineage: maybe(list(object({ epoch: count(0), generationId: text('') }))),
  finalFor: maybe(count(0)),
  move: maybe(
    object({
      phase: movePhase,
      message: text(''),
      from: maybe(name(UNUSABLE)),
      to: maybe(name(UNUSABLE)),
      generation: maybe(count(0)),
      isCopyMade: maybe(flag(true)),
      epoch: maybe(count(0)),
      stoppedAt: maybe(time(LONG_AGO)),
      since: time(LONG_AGO),
    }),
  ),
  lastMove: maybe(
    object({
      from: text(''),
      to: text(''),
      generation: maybe(count(0)),
      epoch: maybe(count(0)),
      isAborted: maybe(flag(true)),
      message: text(''),
      downtimeSeconds: maybe(count(0)),
      at: time(LONG_AGO),
    }),
  ),
  servedEpoch: maybe(count(0)),
  copies,
  divergent: maybe(list(object({ nodeId: name(UNUSABLE), ...divergentMembers }))),
  failover: maybe(object({ mode: text('manual'), writesStopAfterSeconds: maybe(count(0)), because: maybe(text('')) })),
  leaving: maybe(list(name(UNUSABLE))),
  refusedBy: maybe(list(name(UNUSABLE))),
  driver: maybe(text('')),
  limits: maybe(text('')),
  usedBytes: maybe(count(0)),
  measuredAt: maybe(time(LONG_AGO)),
  capacityBytes: maybe(count(0)),
  targetBytes: maybe(count(0)),
  resizeFrom: maybe(count(0)),
  lastResize: maybe(object({ bytes: count(0), isShrink: maybe(flag(true)), seconds: maybe(count(0)) })),
  since: time(LONG_AGO),
});

export const advice = object({
  volume: object({ id: segment(1), name: text('') }),
  lowSince: maybe(time(LONG_AGO)),
  refused: maybe(object({ bytes: count(0), roomBytes: maybe(count(0)), at: maybe(time(LONG_AGO)) })),
  told: list(object({ id: text(''), type: text(''), priority: text('') })),
});

export const volumeReport = object({
  id: segment(1),
  nodeId: segment(2),
  state: text('failed'),
  message: maybe(text('')),
  driver: maybe(text('')),
  limits: maybe(text('')),
  usedBytes: maybe(count(0)),
  epoch: maybe(count(0)),
  generationId: maybe(text('')),
  role: maybe(text('')),
  copies: maybe(copies),
  syncedAt: maybe(time(LONG_AGO)),
  syncedEpoch: maybe(count(0)),
  syncedGenerationId: maybe(text('')),
  final: maybe(object({ epoch: count(0), snapshot: text(''), at: time(LONG_AGO) })),
  divergent: maybe(list(object(divergentMembers))),
  fencesAfterSeconds: maybe(count(0)),
  unfenced: maybe(text('')),
  capacityBytes: maybe(count(0)),
  targetBytes: maybe(count(0)),
  at: time(LONG_AGO),
});
