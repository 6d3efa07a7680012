import type { StoredDeployment } from '../../crds/deployment/index.js';
import { reject } from '../../crds/rejections/index.js';
import type { AskedRotation, RotationStep } from '../../crds/rotation/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { mergedDocument } from '../../pkg/material/index.js';
import { type CredentialPath, credentialPath } from '../../pkg/secrets/index.js';
import type { Call } from '../call.js';
import type { ApiEnv } from '../env.js';
import { Refused } from '../refusal.js';
import type { StoredRotation } from '../views/rotation.js';

/** A phase that was found to be the next one. */
export interface NextPhase {
  readonly deployment: StoredDeployment;
  readonly rotation: StoredRotation;
  readonly step: RotationStep;
}

/**
 * The record of what is asked for. A rotation that begins is promised the number of its new version here, so that it can
 * be made only once, whoever makes it.
 */
export async function askedFor(
  env: ApiEnv,
  { tenant, caller }: Call,
  { deployment, rotation, step }: NextPhase,
): Promise<AskedRotation | Refused> {
  const stamp = { by: caller.id, askedAt: new Date(env.clock.now()).toISOString(), deployment: deployment.name };
  if (step.phase !== 'stage') return { ...rotation.asked!, ...stamp, phase: step.phase };

  const path = credentialPath(tenant, rotation.path);
  const reading = await env.secrets.state(path);
  if (reading.kind === 'forbidden') return forbidden(env, path);
  const { last, current = 0 } = reading.kind === 'found' ? reading.state : { last: 0 };
  if (current === 0 && !step.values && !step.generation)
    return new Refused(reject('secret_write_empty', 'values', undefined));
  return {
    id: env.random.uuid(),
    path: rotation.path,
    phase: 'stage',
    from: current,
    to: last + 1,
    material: step.values
      ? { by: 'caller' }
      : { by: 'platform', ...(step.generation && { generation: step.generation }) },
    ...stamp,
  };
}

/**
 * Whether somebody else has written the version that a rotation was promised, before the rotation did: it can only begin
 * anew. Others may do so in the moment between the promise and the version.
 */
export async function isPromiseBroken(
  env: ApiEnv,
  tenant: string,
  { asked, standing }: StoredRotation,
): Promise<boolean> {
  if (!asked || standing.waitsFor === undefined) return false;
  const path = credentialPath(tenant, asked.path);
  const reading = await env.secrets.state(path);
  if (reading.kind !== 'found' || reading.state.last < asked.to) return false;
  return (reading.state.current ?? 0) >= asked.to || (await env.secrets.read(path, asked.to)).kind === 'missing';
}

/**
 * Stages what the caller has sent, over what the credential holds: the values exist in this request and nowhere else, so
 * nobody else can. A version of the promised number that is there already stays as it is.
 */
export async function supply(
  env: ApiEnv,
  tenant: string,
  { path: text, from, to }: AskedRotation,
  { values = {}, generation }: RotationStep,
): Promise<Refused | undefined> {
  const path = credentialPath(tenant, text);
  const reading = from > 0 ? await env.secrets.read(path, from) : undefined;
  const present = reading?.kind === 'found' ? reading.document : undefined;
  const document = mergedDocument(present, { values, ...(generation && { generation }) }, env.random);
  failpoint('rotation.supplying');
  const written = await env.secrets.write(path, { document, after: to - 1, as: 'pending' });
  failpoint('rotation.supplied');
  return written.kind === 'forbidden' ? forbidden(env, path) : undefined;
}

function forbidden({ still }: ApiEnv, { namespace }: CredentialPath): Refused {
  const granted = still.secretsPolicy.namespaces.filter(name => name !== namespace);
  return new Refused(reject('secret_path_namespace', 'namespace', namespace, { granted }));
}
