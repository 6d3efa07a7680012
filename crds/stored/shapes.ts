import {
  count,
  expect,
  flag,
  list,
  map,
  type Repairer,
  name,
  object,
  optional,
  readSegment,
  segment,
  text,
  time,
  whole,
} from './repair.js';

/** A time that nothing is younger than. */
export const LONG_AGO = '1970-01-01T00:00:00.000Z';
/** An id that no object has. */
export const UNUSABLE = 'unusable';

export const anything: Repairer = { isSound: () => true, repair: value => value };
export const maybe = optional;
export const names = list(text(''));

const metadataMembers = {
  uid: name(UNUSABLE),
  tenant: segment(0),
  generation: count(0),
  createdAt: time(LONG_AGO),
  updatedAt: time(LONG_AGO),
  specHash: text(''),
  deletedAt: maybe(time(LONG_AGO)),
  annotations: maybe(map(text(''))),
  fieldOwners: maybe(
    object({
      managers: list(object({ name: text(''), operation: text('Update'), at: text('') })),
      fields: map(list(anything)),
    }),
  ),
};

export const metadata = object(metadataMembers);
/** Nodes without an id have one each, so that none is taken for another. */
export const nodeId = name(key => `${UNUSABLE}-${readSegment(key, 1)}`);

const secretReferences = list(object({ name: text(''), vault_path: text('') }));
const healthCheck = object({ command: names });
const ports = list(object({ containerPort: count(0), hostPort: maybe(count(0)), protocol: text('tcp') }));

const mounts = list(object({ volumeId: text(''), type: text('tmpfs'), mountPath: text(''), readOnly: flag(false) }));

/** What deployments and the templates of replicas have in common. */
const containerMembers = {
  image: text(''),
  entrypoint: maybe(names),
  command: maybe(names),
  environment: maybe(map(anything)),
  healthCheck: maybe(healthCheck),
  ports: maybe(ports),
  resources: maybe(map(anything)),
  secrets: maybe(secretReferences),
  composedSecrets: maybe(map(text(''))),
  secretsVersion: count(0),
  networks: maybe(names),
  volumes: maybe(mounts),
  preStop: maybe(names),
  stopGracePeriod: maybe(text('')),
};

const placement = object({
  residency: maybe(object({})),
  constraints: maybe(list(object({}))),
  antiAffinity: maybe(object({ deployments: names })),
});

const { secretsVersion: _, ...jobMembers } = containerMembers;

export const job = object({
  metadata: object({
    ...metadataMembers,
    owner: maybe(object({ name: name(UNUSABLE), uid: text(UNUSABLE) })),
    scheduledAt: maybe(time(LONG_AGO)),
  }),
  name: segment(1),
  ...jobMembers,
  nodeId: maybe(name(UNUSABLE)),
  placement: maybe(placement),
  restartPolicy: maybe(text('Never')),
  backoffLimit: count(0),
  timeoutSeconds: maybe(count(0)),
  ttlSecondsAfterFinished: maybe(count(0)),
  schedule: maybe(text('')),
  timeZone: maybe(text('')),
  concurrencyPolicy: maybe(text('Forbid')),
});

const exitCode = expect(Number.isSafeInteger, 'an exit code')(0);
const jobEnd = {
  exitCode: maybe(exitCode),
  reason: maybe(text('')),
  startedAt: maybe(time(LONG_AGO)),
  finishedAt: maybe(time(LONG_AGO)),
};

const run = object({
  name: text(''),
  scheduledAt: time(LONG_AGO),
  phase: text('Pending'),
  exitCode: maybe(exitCode),
  finishedAt: maybe(time(LONG_AGO)),
});

/** What the status of a job with a schedule has beside what every job has. */
const scheduleMembers = {
  settledUntil: maybe(time(LONG_AGO)),
  lastScheduledAt: maybe(time(LONG_AGO)),
  nextRunAt: maybe(time(LONG_AGO)),
  active: maybe(names),
  lastRun: maybe(run),
  runs: maybe(list(run)),
  missed: maybe(object({ count: count(0), lastAt: time(LONG_AGO), reason: text('') })),
};

export const jobStatus = object({
  uid: text(UNUSABLE),
  phase: text('Pending'),
  message: text(''),
  attempts: count(0),
  ...jobEnd,
  retryAt: maybe(time(LONG_AGO)),
  ...scheduleMembers,
  history: list(
    object({
      attempt: count(0),
      uid: text(''),
      state: text(''),
      nodeId: maybe(text('')),
      nodeName: maybe(text('')),
      message: maybe(text('')),
      ...jobEnd,
      storedAt: maybe(time(LONG_AGO)),
    }),
  ),
});

export const deployment = object({
  metadata,
  name: segment(1),
  replicas: count(0),
  ...containerMembers,
  nodeId: maybe(name(UNUSABLE)),
  placement: maybe(placement),
  dependsOn: maybe(list(object({ name: text(''), condition: text('started') }))),
  rollout: maybe(object({})),
  labels: maybe(map(text(''))),
});

/** A slot as keys have it; no number of any other text, since two keys would be of one slot. */
function toSlot(text = ''): number {
  return /^(?:0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN;
}

const replicaMembers = object({
  uid: name(UNUSABLE),
  tenant: segment(0),
  deployment: segment(1),
  deploymentUid: maybe(text('')),
  slot: segment(2, toSlot),
  generation: maybe(count(0)),
  templateHash: maybe(text('')),
  template: object(containerMembers),
  namedNode: maybe(name(UNUSABLE)),
  nodeId: maybe(name(UNUSABLE)),
  resolved: maybe(object({ versions: map(count(0)), at: text('') })),
  retiringSince: maybe(text('')),
  placedAt: maybe(time(LONG_AGO)),
  createdAt: maybe(text('')),
});

/** A replica that cannot be read has to go: its slot is filled again. */
export const replicaShape: Repairer = {
  isSound: replicaMembers.isSound,
  repair: (value, context, path) => ({
    retiringSince: LONG_AGO,
    ...(replicaMembers.repair(value, context, path) as object),
  }),
};

const orderMembers = maybe(object({ drain: maybe(object({})), fence: maybe(object({})) }));
/** Orders that cannot be read might have been to take no more work. */
export const orders: Repairer = {
  isSound: orderMembers.isSound,
  repair: (value, context, path) => {
    const known = context.faults.length;
    const repaired = orderMembers.repair(value, context, path);
    return context.faults.length === known ? repaired : { drain: { by: UNUSABLE, since: LONG_AGO } };
  },
};

export const pull = maybe(object({ receivedBytes: count(0), totalBytes: count(0) }));

export const ended = object({
  exitCode: anything,
  at: time(LONG_AGO),
  output: maybe(text('')),
  log: maybe(text('')),
});
export const reasonWords = list(text(''));
const baseline = object({
  templateHash: text(''),
  template: object(containerMembers),
  namedNode: maybe(name(UNUSABLE)),
});
export const completedRollout = object({
  revision: count(0),
  templateHash: text(''),
  contentHash: text(''),
  at: time(LONG_AGO),
});
/** An order that is damaged is not followed. */
export const canaryOrder = whole({
  uid: text(UNUSABLE),
  contentHash: text(''),
  action: text(''),
  beside: maybe(object({ completed: completedRollout, baseline })),
  by: text(''),
  at: time(LONG_AGO),
});
export const canary = object({
  revision: count(0),
  contentHash: text(''),
  startedAt: time(LONG_AGO),
  baseline,
  healthy: maybe(object({ since: time(LONG_AGO), restarted: maybe(map(count(0))) })),
  promotedAt: maybe(time(LONG_AGO)),
});
export const condition = object({ type: text(''), status: text(''), reason: text(''), message: text('') });

export const archived = object({
  revision: count(0),
  at: time(LONG_AGO),
  by: text(''),
  operation: text(''),
  change: text('update'),
  specHash: text(''),
  secretsVersion: count(0),
  alterations: list(object({})),
  spec: object({ name: text(''), image: text(''), replicas: count(0) }),
});

export const tenant = object({
  id: segment(0),
  name: text(''),
  createdAt: time(LONG_AGO),
  platform: flag(false),
  quotas: maybe(map(anything)),
  autoGrow: maybe(flag(false)),
});
