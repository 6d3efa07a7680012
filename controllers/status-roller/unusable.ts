import { isDeepStrictEqual } from 'node:util';

import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { asError, Fault } from '../../pkg/fault/index.js';

/** A status to store, with the events of the change. */
export interface RolledStatus {
  readonly status: DeploymentStatus;
  readonly drafts: readonly EventDraft[];
}

interface UnusableInput {
  readonly deployment: StoredDeployment;
  readonly previous: DeploymentStatus | undefined;
  readonly now: string;
}

/** Reason of the condition and the event of a record that no status can be derived from. */
const RECORD_UNUSABLE = 'record_unusable';

/**
 * The status that is derived; or, of a record that cannot be worked with, one that says so. Only a person can correct such
 * a record, so a failed reconcile that is repeated for ever would be reported nowhere.
 */
export function orUnusable(derive: () => RolledStatus, input: UnusableInput): RolledStatus {
  try {
    return derive();
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    return describeUnusable(asError(thrown), input);
  }
}

function describeUnusable(error: Error, { deployment, previous, now }: UnusableInput): RolledStatus {
  const { uid, generation, tenant, deletedAt } = deployment.metadata;
  const own = previous?.uid === uid ? previous : undefined;
  const message = `the stored record cannot be worked with (${error.message}): send it again with PUT, or delete it`;
  const known = own?.conditions.find(({ type }) => type === 'Progressing');
  const condition = {
    type: 'Progressing',
    status: 'False',
    reason: RECORD_UNUSABLE,
    message,
    lastTransitionTime: known?.status === 'False' ? known.lastTransitionTime : now,
    observedGeneration: generation,
  } as const;
  const status: DeploymentStatus = {
    uid,
    phase: deletedAt ? 'Deleting' : 'Degraded',
    message,
    replicas: own?.replicas ?? 0,
    readyReplicas: 0,
    updatedReplicas: 0,
    observedGeneration: generation,
    revision: own?.revision ?? 0,
    secretsVersion: own?.secretsVersion ?? 0,
    placements: own?.placements ?? [],
    conditions: [condition],
    ...(own?.events && { events: own.events }),
  };
  if (own && isDeepStrictEqual(own, status)) return { status: own, drafts: [] };
  const draft: EventDraft = {
    type: 'deployment.degraded',
    tenant,
    subject: { kind: 'Deployment', name: deployment.name, id: uid },
    severity: 'warning',
    reason: RECORD_UNUSABLE,
    message,
  };
  return { status, drafts: own?.message === message ? [] : [draft] };
}
