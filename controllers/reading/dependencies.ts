import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import { type Cache, readValue } from '../../pkg/store/index.js';

/** A dependency that does not hold, and why. */
export interface UnmetDependency {
  readonly name: string;
  readonly condition: 'healthy' | 'started';
  /** For people: `does not exist`. */
  readonly because: string;
}

/** How much of a dependency's own reason is carried along: it may carry the reason of another one. */
const CARRIED_LENGTH = 300;

/** What the status of a dependency says, so that one command names the cause at the end of a chain. Empty for one that is on its way. */
export function carryReason({ metadata: { tenant, uid }, name }: StoredDeployment, cache: Cache): string {
  const status = readValue<DeploymentStatus>(cache, keys.status(tenant, name));
  if (status?.uid !== uid || status.phase === 'Running' || status.phase === 'Progressing') return '';
  const { phase, message } = status;
  return ` (${phase}: ${message.length > CARRIED_LENGTH ? `${message.slice(0, CARRIED_LENGTH)}…` : message})`;
}
