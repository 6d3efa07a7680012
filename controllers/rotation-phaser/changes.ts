import { type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import { keys, type ObjectName } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Entry, type Put } from '../../pkg/store/index.js';

/** A rotation with what is recorded of it. */
export interface RotationSubject {
  /** The tenant, and the label of the credential. */
  readonly named: ObjectName;
  /** The record of what was asked for. */
  readonly entry: Entry;
  readonly asked: RotationRecord;
  /** The record of progress as it stands, be it of this rotation or of an earlier one. */
  readonly recorded: Entry | undefined;
  /** Of this rotation. */
  readonly progress: RotationProgress | undefined;
}

/** The progress of a phase that has just been taken up. */
export function toProgress(
  { asked, progress }: RotationSubject,
  env: LoopEnv,
  change: Partial<RotationProgress>,
): RotationProgress {
  const { id, phase } = asked;
  const { staged = false, raised = {}, returned = {} } = progress ?? {};
  return { id, phase, holds: false, staged, raised, returned, at: new Date(env.clock.now()).toISOString(), ...change };
}

/** The change that records progress, with what belongs to it. */
export function recordProgress(subject: RotationSubject, next: RotationProgress, more: Partial<Change> = {}): Change {
  const { tenant, name } = subject.named;
  const key = keys.rotationProgress(tenant, name);
  return {
    guards: [{ key, at: subject.recorded?.revision ?? 0 }, ...(more.guards ?? [])],
    puts: [{ key, bytes: encode(next) }, ...(more.puts ?? [])],
    deletes: [],
  };
}

/**
 * The change that raises the secretsVersion of a consumer, with its archive entry. It is recorded in the same
 * transaction, so that it happens once.
 */
export async function raiseSecretsVersion(
  subject: RotationSubject,
  ledger: 'raised' | 'returned',
  { entry, deployment }: { readonly entry: Entry; readonly deployment: StoredDeployment },
  env: LoopEnv,
): Promise<Change> {
  const spec = { ...toSpec(deployment), secretsVersion: deployment.secretsVersion + 1 };
  const updatedAt = new Date(env.clock.now()).toISOString();
  const { generation } = deployment.metadata;
  const metadata = { ...deployment.metadata, generation: generation + 1, updatedAt, specHash: hashSpec(spec) };
  const { tenant, uid } = metadata;
  const archive: Put = {
    key: keys.archive(tenant, uid, metadata.generation),
    bytes: encode({
      revision: metadata.generation,
      at: updatedAt,
      by: subject.asked.by,
      operation: subject.asked.id,
      change: 'rotate',
      specHash: metadata.specHash,
      secretsVersion: spec.secretsVersion,
      alterations: [],
      spec,
    }),
  };
  const event = await env.events.put({
    type: 'deployment.updated',
    tenant,
    subject: { kind: 'Deployment', name: deployment.name, id: uid },
    reason: 'rotated',
    message: `The containers of deployment ${deployment.name} are recreated for the rotation of ${subject.named.name}.`,
    data: { generation: metadata.generation, secretsVersion: spec.secretsVersion },
  });
  const done = { ...subject.progress?.[ledger], [uid]: spec.secretsVersion };
  return recordProgress(subject, toProgress(subject, env, { [ledger]: done }), {
    guards: [{ key: entry.key, at: entry.revision }],
    // Metadata first: answers are spliced from these bytes.
    puts: [{ key: entry.key, bytes: encode({ metadata, ...spec }) }, archive, event],
  });
}

/** The change that requests an abort, when no deployment refers to the credential any more. */
export function requestAbort({ entry, asked }: RotationSubject, env: LoopEnv): Change {
  const back: RotationRecord = { ...asked, phase: 'abort', askedAt: new Date(env.clock.now()).toISOString() };
  return {
    guards: [{ key: entry.key, at: entry.revision }],
    puts: [{ key: entry.key, bytes: encode(back) }],
    deletes: [],
  };
}

/** The event of a phase that holds now. */
export function buildPhaseEvent({ named, asked }: RotationSubject, env: LoopEnv): Promise<Put> {
  const isBack = asked.phase === 'abort';
  return env.events.put({
    type: isBack ? 'secret.rotation_aborted' : 'secret.rotation_advanced',
    tenant: named.tenant,
    subject: { kind: 'Secret', name: named.name, id: asked.path },
    severity: isBack ? 'warning' : 'info',
    reason: isBack ? 'aborted' : asked.phase,
    message: isBack
      ? 'The rotation was aborted; the old version stays current.'
      : `The phase ${asked.phase} is complete.`,
    data: { phase: asked.phase, from: asked.from, to: asked.to },
  });
}
