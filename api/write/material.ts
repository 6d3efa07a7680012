import type { DeploymentFacts } from '../../crds/deployment/index.js';
import type { SecretWrite } from '../../crds/secret/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { asError } from '../../pkg/fault/index.js';
import type { Logger } from '../../pkg/log/index.js';
import {
  advanceIntent,
  settleIntent,
  type StagedMaterial,
  type StageEnv,
  stageMaterial,
  undoIntent,
} from '../../pkg/material/index.js';
import { type CredentialPath, toCredentialPath } from '../../pkg/secrets/index.js';
import { type Cache, type Change, OutcomeUnknownFault, type Verdict } from '../../pkg/store/index.js';
import { rejectRequest, type RequestRejection } from '../http/reply.js';
import type { ApiCall } from '../http/route.js';

/** Secret material that came with a document. */
export interface SubmittedMaterial {
  /** The workload that it came with. */
  readonly subject: string;
  readonly writes: readonly SecretWrite[];
  /** Names of the keys that each credential held when the document was judged. */
  readonly seen: Readonly<Record<string, readonly string[]>>;
  /** The document changes nothing else: where the secrets store holds it all already, there is nothing to commit. */
  readonly isAlone?: boolean;
}

/** What records are committed with that secret material may come with. */
export interface MaterialCommitEnv extends StageEnv {
  readonly cache: Pick<Cache, 'revision'>;
  readonly log: Logger;
  readonly staticFacts: Pick<DeploymentFacts, 'secretsPolicy'>;
}

/**
 * Commits a record together with the secret material that came with it, or neither. `stored: false` also when one of
 * the credentials was written meanwhile: the document must then be judged again.
 */
export async function commitWithMaterial(
  env: MaterialCommitEnv,
  { tenant, requestId }: ApiCall,
  change: Change,
  { writes, subject, seen, isAlone = false }: SubmittedMaterial,
): Promise<Verdict | RequestRejection> {
  const outcome = await stageMaterial(env, { tenant, subject, operation: requestId, material: writes, seen });
  switch (outcome.kind) {
    case 'nothing':
      return isAlone ? { stored: true, revision: env.cache.revision } : env.store.commit(change);
    case 'conflict':
      return { stored: false };
    case 'forbidden':
      return rejectNamespace(env, toCredentialPath(tenant, outcome.path), 'secrets');
    case 'staged':
      return commitStaged({ ...env, log: env.log.with({ requestId }) }, change, outcome.staged);
  }
}

async function commitStaged(env: MaterialCommitEnv, change: Change, staged: StagedMaterial): Promise<Verdict> {
  let verdict: Verdict;
  try {
    failpoint('material.staged');
    verdict = await env.store.commit(advanceIntent(change, staged));
  } catch (thrown) {
    // When the outcome is unknown, the janitor finds it out from the intent.
    if (!(thrown instanceof OutcomeUnknownFault)) await tryOrLeaveToJanitor(env, staged, () => undoIntent(env, staged));
    throw thrown;
  }
  if (verdict.stored) failpoint('material.record_stored');
  await tryOrLeaveToJanitor(env, staged, () =>
    verdict.stored ? settleIntent(env, staged, verdict.revision) : undoIntent(env, staged),
  );
  return verdict;
}

/** Does the clean-up; when it fails it is left to the janitor, since the request itself is decided. */
async function tryOrLeaveToJanitor(
  { log }: MaterialCommitEnv,
  { key }: StagedMaterial,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    log.warn('secret versions were not completed; the janitor completes or removes them', {
      key,
      error: asError(thrown),
    });
  }
}

/** The refusal of a path that the settings grant, and the policy of the secrets store does not. */
export function rejectNamespace(
  { staticFacts }: Pick<MaterialCommitEnv, 'staticFacts'>,
  { namespace }: CredentialPath,
  field = 'namespace',
): RequestRejection {
  const granted = staticFacts.secretsPolicy.namespaces.filter(name => name !== namespace);
  return rejectRequest('secret_path_namespace', field, namespace, { granted });
}
