import type { StoredDeployment } from '../../crds/deployment/index.js';
import { parseSecretPath } from '../../crds/grammar/index.js';
import type { RotationFacts, RotationStep } from '../../crds/rotation/index.js';
import type { Cache, Entry } from '../../pkg/store/index.js';
import { anchorsOf } from '../admission/relations.js';
import type { StoredRotation } from '../views/rotation.js';

/** A phase that was found to be the next one, or the present one again. */
export interface Asking {
  readonly entry: Entry;
  readonly deployment: StoredDeployment;
  readonly rotation: StoredRotation;
  readonly step: RotationStep;
}

/** Where the credentials of a deployment lie, by label. */
export function pathsOf({ secrets = [] }: StoredDeployment): ReadonlyMap<string, string> {
  return new Map(secrets.map(({ vault_path: path }) => [parseSecretPath(path)?.label ?? path, path]));
}

/**
 * What a step of a rotation is judged by. One rotation serves all who refer to a credential, so it is external when it is
 * for any of them.
 */
export function factsOf(
  cache: Cache,
  deployment: StoredDeployment,
  rotation: Pick<StoredRotation, 'asked' | 'standing'> | undefined,
): RotationFacts {
  const { tenant } = deployment.metadata;
  const paths = [...pathsOf(deployment)];
  const external = paths.filter(([, path]) => anchorsOf(cache, tenant, path).includes('external'));
  return {
    ...(rotation?.standing ?? { state: 'idle' }),
    isTurnedBack: rotation?.asked?.phase === 'abort',
    labels: paths.map(([label]) => label),
    external: external.map(([label]) => label),
  };
}
