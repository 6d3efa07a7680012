import type { DeploymentStatus } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import type { Entry } from '../../pkg/store/index.js';
import type { Resource } from '../watch/resource.js';
import { remembered, spliced, uidIn } from './splice.js';

const STATUS = Buffer.from(',"status":');
const DELETED = /"deletedAt":"/;
const PENDING = untold('Pending', 'accepted; no loop has looked at it yet');
const DELETING = untold('Deleting', 'deletion was asked for');

/** A deployment with its status, as clients see it. */
export const deploymentView = remembered((entry, status) => spliced(entry, STATUS, statusBytes(entry, status)));

/** Deployments, for lists and watches. */
export const deploymentResource: Resource = {
  range: ranges.deployments,
  joined: ranges.statuses,
  view: deploymentView,
};

/** The answer to a write: the deployment, and everything that the server added or remarked. */
export function writtenDeployment(
  entry: Pick<Entry, 'bytes' | 'revision'>,
  status: Entry | undefined,
  alterations: readonly Alteration[],
  warnings: readonly Warning[],
): Buffer {
  const remarks = `,"alterations":${JSON.stringify(alterations)},"warnings":${JSON.stringify(warnings)}`;
  return spliced(entry, STATUS, statusBytes(entry, status), Buffer.from(remarks));
}

/** A status of an earlier deployment of the same name is not this one's. */
function statusBytes({ bytes }: Pick<Entry, 'bytes'>, status: Entry | undefined): Buffer {
  if (status && uidIn(status.bytes) === uidIn(bytes)) return status.bytes;
  return DELETED.test(bytes.toString('latin1', 0, METADATA_LENGTH)) ? DELETING : PENDING;
}

/** Metadata comes first and is never longer than this. */
const METADATA_LENGTH = 512;

function untold(phase: DeploymentStatus['phase'], message: string): Buffer {
  const status: Omit<DeploymentStatus, 'uid'> = {
    phase,
    message,
    replicas: 0,
    readyReplicas: 0,
    updatedReplicas: 0,
    observedGeneration: 0,
    secretsVersion: 0,
    placements: [],
    conditions: [],
  };
  return Buffer.from(JSON.stringify(status));
}
