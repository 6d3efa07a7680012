import { type HealthCheck, isNumericUser } from '../../../../crds/deployment/index.js';
import { parseDuration } from '../../../../crds/grammar/index.js';
import type { ContainerMount } from '../container-parts.js';
import { type ContainerSpec, EngineRefusedFault } from '../engine.js';
import { toLabels, toNotes } from '../ownership-labels.js';

/** The one container of a Pod of ours. */
export const MAIN = 'main';

/** Keeps a Pod from being scheduled: it is created, and not started. */
export const START_GATE = 'mooring.io/start';

/** The names of the variables that hold secrets, joined by commas. */
export const SECRETS_ANNOTATION = 'mooring.io/secret-variables';

/** The Secret that a Pod needs until it is started. */
export const SECRET_ANNOTATION = 'mooring.io/secret';

/** For how long after its start a Pod that was never ready counts as starting, in seconds. */
export const START_PERIOD_ANNOTATION = 'mooring.io/start-period-seconds';

/** The key of a Secret under which the kubelet looks for the login of a registry. */
export const LOGIN_KEY = '.dockerconfigjson';

export interface PodParts {
  /** The Secret that holds the values of its secret variables, and the login for its image; absent: it needs none. */
  readonly secret?: string | undefined;
  /** The Secret holds a login. */
  readonly hasLogin?: boolean;
  /** What it may write to its own file system, in bytes. */
  readonly diskBytes?: number | undefined;
  /** Between the signal to end and the kill, where the container does not say. */
  readonly graceSeconds: number;
}

/** What Pod Security calls restricted, at the level of the Pod. */
const RESTRICTED_POD = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } as const;

/** The same of its container. */
const RESTRICTED = { allowPrivilegeEscalation: false, privileged: false, capabilities: { drop: ['ALL'] } } as const;

/** The Pod that runs a container: not started, restarted by the agent only, and without the token of a service account. */
export function buildPod(spec: ContainerSpec, parts: PodParts) {
  const { secret, hasLogin = false, graceSeconds } = parts;
  const secrets = [...(spec.secrets?.keys() ?? [])];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: spec.name,
      labels: { ...toLabels(spec.owner), 'app.kubernetes.io/managed-by': 'mooring' },
      annotations: {
        ...toNotes(spec.owner),
        [SECRETS_ANNOTATION]: secrets.join(','),
        ...(secret !== undefined && { [SECRET_ANNOTATION]: secret }),
        ...(spec.healthCheck && { [START_PERIOD_ANNOTATION]: String(countStartSeconds(spec.healthCheck)) }),
      },
    },
    spec: {
      schedulingGates: [{ name: START_GATE }],
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: spec.stopGraceSeconds ?? graceSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostname: spec.alias.replaceAll('.', '-').slice(0, 63).replace(/-+$/, ''),
      securityContext: { ...RESTRICTED_POD, ...toRunAs(spec.user) },
      ...(hasLogin && { imagePullSecrets: [{ name: secret }] }),
      containers: [
        {
          name: MAIN,
          image: spec.image,
          imagePullPolicy: 'Always', // the registry decides each time whether the tenant may have it
          ...(spec.entrypoint && { command: spec.entrypoint.map(toLiteral) }),
          ...(spec.command && { args: spec.command.map(toLiteral) }),
          env: [
            ...Object.entries(spec.environment).map(([name, value]) => ({ name, value: toLiteral(value) })),
            ...secrets.map(name => ({ name, valueFrom: { secretKeyRef: { name: secret, key: name } } })),
          ],
          ports: spec.ports.map(({ containerPort, protocol }) => ({
            containerPort,
            protocol: protocol.toUpperCase(),
          })),
          resources: buildResources(spec, parts),
          ...(spec.healthCheck && { readinessProbe: buildProbe(spec.healthCheck) }),
          securityContext: { ...RESTRICTED, readOnlyRootFilesystem: spec.readOnlyRootFilesystem ?? false },
          volumeMounts: listMemory(spec).map(({ name, mountPath, readOnly }) => ({ name, mountPath, readOnly })),
        },
      ],
      volumes: listMemory(spec).map(({ name, sizeBytes }) => ({
        name,
        emptyDir: { medium: 'Memory', sizeLimit: String(sizeBytes) },
      })),
    },
  };
}

/** The cluster replaces `$(NAME)` in commands and values, and `$$` by `$`: nothing of a tenant is to be replaced. */
function toLiteral(text: string): string {
  return text.replaceAll('$', '$$$$');
}

function toRunAs(user: string | undefined): { readonly runAsUser?: number; readonly runAsGroup?: number } {
  if (user === undefined) return {};
  if (!isNumericUser(user)) {
    throw new EngineRefusedFault(422, `a Pod runs as no user ${user}: name the user by its number, other than 0`);
  }
  const [id, group] = user.split(':').map(Number);
  return { runAsUser: id!, ...(group !== undefined && { runAsGroup: group }) };
}

function buildResources({ limits = {}, requests = {} }: ContainerSpec, { diskBytes }: PodParts) {
  const disk = diskBytes === undefined ? {} : { 'ephemeral-storage': String(diskBytes) };
  // A request above the limit would be refused.
  const cpu = Math.min(requests.cpu ?? limits.cpu ?? 0, limits.cpu ?? Number.POSITIVE_INFINITY);
  const memory = Math.min(requests.memory ?? limits.memory ?? 0, limits.memory ?? Number.POSITIVE_INFINITY);
  return {
    requests: { ...formatAmounts({ cpu, memory }) },
    limits: { ...formatAmounts(limits), ...disk },
  };
}

function formatAmounts({ cpu, memory }: { readonly cpu?: number; readonly memory?: number }) {
  return { ...(cpu && { cpu: `${cpu}m` }), ...(memory && { memory: String(memory) }) };
}

/** What our health checks take where they do not say: the figures of container engines, not of Kubernetes. */
const CHECK = { interval: 30, timeout: 30, retries: 3, startPeriod: 0 };

function readCheck({ interval, timeout, retries = CHECK.retries, startPeriod }: HealthCheck) {
  const seconds = (text: string | undefined, usual: number) =>
    Math.ceil((text === undefined ? usual * 1000 : (parseDuration(text) ?? usual * 1000)) / 1000);
  return {
    interval: Math.max(1, seconds(interval, CHECK.interval)),
    timeout: Math.max(1, seconds(timeout, CHECK.timeout)),
    retries: Math.max(1, retries),
    startPeriod: seconds(startPeriod, CHECK.startPeriod),
  };
}

/** A command of one element is a shell line; several elements are the arguments of a program. */
function buildProbe(check: HealthCheck) {
  const { interval, timeout, retries } = readCheck(check);
  const command = check.command.length === 1 ? ['/bin/sh', '-c', ...check.command] : check.command;
  return {
    exec: { command: command.map(toLiteral) },
    periodSeconds: interval,
    timeoutSeconds: timeout,
    failureThreshold: retries,
  };
}

function countStartSeconds(check: HealthCheck): number {
  const { interval, timeout, retries, startPeriod } = readCheck(check);
  return startPeriod + retries * (interval + timeout);
}

const SCRATCH = [
  { kind: 'tmpfs', target: '/tmp', readOnly: false, sizeBytes: 64 * 2 ** 20 },
  { kind: 'tmpfs', target: '/run', readOnly: false, sizeBytes: 16 * 2 ** 20 },
] as const;

/** The memory that is mounted. With a read-only root file system, `/tmp` and `/run` stay writable, unless something else is there. */
function listMemory({ mounts = [], readOnlyRootFilesystem = false }: ContainerSpec) {
  const taken = new Set(mounts.map(({ target }) => target));
  const all: readonly ContainerMount[] = [
    ...mounts,
    ...(readOnlyRootFilesystem ? SCRATCH.filter(({ target }) => !taken.has(target)) : []),
  ];
  return all.map((mount, position) => {
    if (mount.kind === 'bind')
      throw new EngineRefusedFault(422, 'a Pod mounts no folder of a machine: use another node');
    return {
      name: `memory-${position}`,
      mountPath: mount.target,
      readOnly: mount.readOnly,
      sizeBytes: mount.sizeBytes,
    };
  });
}
