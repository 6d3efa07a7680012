import { type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import { keys, type ObjectName } from '../../crds/keys/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import type { Generation } from '../../crds/secret/index.js';
import type { Random } from '../../pkg/clock/index.js';
import { buildRevision, nextMetadata } from '../../pkg/history/index.js';
import { mergeDocument } from '../../pkg/material/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import {
  type CredentialPath,
  type SecretDocument,
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  type SecretPrecondition,
  type SecretStore,
  SecretStoreRefusedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../../pkg/secrets/index.js';
import { type Change, encode, type Entry, type Put } from '../../pkg/store/index.js';

/** A rotation with its stored records. */
export interface RotationSubject {
  /** The tenant, and the label of the credential. */
  readonly named: ObjectName;
  /** The entry of the requested rotation. */
  readonly entry: Entry;
  readonly rotation: RotationRecord;
  /** The stored progress, of this rotation or of an earlier one. */
  readonly recorded: Entry | undefined;
  /** The progress of this rotation; undefined before its first step. */
  readonly progress: RotationProgress | undefined;
}

/** The progress of the requested phase, incomplete unless `change` says otherwise. */
export function toProgress(
  { rotation, progress }: RotationSubject,
  env: LoopEnv,
  change: Partial<RotationProgress>,
): RotationProgress {
  const { id, phase } = rotation;
  const { staged = false, raised = {}, returned = {} } = progress ?? {};
  return { id, phase, holds: false, staged, raised, returned, at: new Date(env.clock.now()).toISOString(), ...change };
}

/** The change that records progress, with the guards and puts of the same transaction. */
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
 * The change that raises the secretsVersion of a consumer, with its archive entry. The same transaction
 * records it in the progress, so that it happens once.
 */
export async function raiseSecretsVersion(
  subject: RotationSubject,
  ledger: 'raised' | 'returned',
  { entry, deployment }: { readonly entry: Entry; readonly deployment: StoredDeployment },
  env: LoopEnv,
): Promise<Change> {
  const spec = { ...toSpec(deployment), secretsVersion: deployment.secretsVersion + 1 };
  const { metadata, puts } = buildRevision(spec, hash => nextMetadata(deployment.metadata, hash, env.clock.now()), {
    change: 'rotate',
    by: subject.rotation.by,
    operation: subject.rotation.id,
    alterations: [],
  });
  const { tenant, uid } = metadata;
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
    puts: [...puts, event],
  });
}

/** The change that requests an abort, when no deployment refers to the credential any more. */
export function requestAbort({ entry, rotation }: RotationSubject, env: LoopEnv): Change {
  const aborted: RotationRecord = { ...rotation, phase: 'abort', askedAt: new Date(env.clock.now()).toISOString() };
  return {
    guards: [{ key: entry.key, at: entry.revision }],
    puts: [{ key: entry.key, bytes: encode(aborted) }],
    deletes: [],
  };
}

/** The event of a completed phase. */
export function buildPhaseEvent({ named, rotation }: RotationSubject, env: LoopEnv): Promise<Put> {
  const isAbort = rotation.phase === 'abort';
  return env.events.put({
    type: isAbort ? 'secret.rotation_aborted' : 'secret.rotation_advanced',
    tenant: named.tenant,
    subject: { kind: 'Secret', name: named.name, id: rotation.path },
    severity: isAbort ? 'warning' : 'info',
    reason: isAbort ? 'aborted' : rotation.phase,
    message: isAbort
      ? 'The rotation was aborted; the old version stays current.'
      : `The phase ${rotation.phase} is complete.`,
    data: { phase: rotation.phase, from: rotation.from, to: rotation.to },
  });
}

/** What a rotation waits for when the policy of the secrets store denies access. */
export const FORBIDDEN = 'access: the policy of the secrets store denies this path to the platform';

/** What a rotation waits for when its staged version is missing. */
export const GONE = 'abort: the staged version was destroyed outside this rotation';

/** What a rotation waits for after a failure of the secrets store. Undefined for an unexpected failure. */
export function describeSecretFault(thrown: unknown): string | undefined {
  if (thrown instanceof SecretStoreUnavailableFault || thrown instanceof SecretOutcomeUnknownFault) {
    return 'the secrets store, which cannot be reached';
  }
  if (thrown instanceof UnreadableSecretFault)
    return 'a readable secret: the stored one cannot be decrypted with the present keys';
  if (thrown instanceof SecretDocumentFault || thrown instanceof SecretStoreRefusedFault) {
    return 'abort: the secrets store refuses the new version';
  }
  return undefined;
}

/** 256 bits a value, as text that needs no quoting anywhere. */
const DEFAULT_RECIPE = { by: 'bytes', bytes: 32, encoding: 'base64url' } as const;

/**
 * Makes new material and stages it as the version that the rotation was promised. It is written once: an
 * existing version of that number stays as it is.
 */
export async function mintMaterial(
  secrets: SecretStore,
  path: CredentialPath,
  { from, to, material }: RotationRecord,
  { random, ...condition }: SecretPrecondition & { readonly random: Random },
): Promise<'written' | 'conflict' | 'forbidden'> {
  const reading = from > 0 ? await secrets.read(path, from) : undefined;
  if (reading?.kind === 'forbidden') return 'forbidden';
  const present = reading?.kind === 'found' ? reading.document : undefined;
  const recipe = material.by === 'platform' ? material.generation : undefined;
  const document = mergeDocument(present, { values: {}, generation: recipe ?? renewEveryKey(present) }, random);
  return (await secrets.write(path, { document, after: to - 1, as: 'pending', ...condition })).kind;
}

function renewEveryKey(document: SecretDocument | undefined): Generation {
  return { keys: [...(document?.keys() ?? [])], ...DEFAULT_RECIPE };
}
