import type { ContainerStatus } from '../engine.js';
import { readOwner } from '../ownership-labels.js';
import { MAIN, SECRET_ANNOTATION, SECRETS_ANNOTATION, START_PERIOD_ANNOTATION } from './pod.js';

/** The fields that we read of a Pod. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly securityContext?: { readonly runAsUser?: number; readonly runAsGroup?: number };
    readonly containers: readonly {
      readonly name: string;
      readonly image?: string;
      readonly readinessProbe?: unknown;
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly startTime?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly PodContainer[];
  };
}

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

interface PodContainer {
  readonly name: string;
  readonly ready?: boolean;
  readonly imageID?: string;
  readonly user?: { readonly linux?: { readonly uid?: number; readonly gid?: number } };
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: {
      readonly exitCode: number;
      readonly reason?: string;
      readonly message?: string;
      readonly startedAt?: string;
      readonly finishedAt?: string;
    };
  };
}

/** Others may write annotations too: no Secret but one of ours is to be deleted by its name. */
const OWN_SECRET = /^mooring-(pull-)?[0-9a-f]{16,32}$/;

/** What a Pod that ended without an exit code counts as: killed. */
const KILLED = 137;

export function findMain({ status }: Pod): PodContainer | undefined {
  return status?.containerStatuses?.find(({ name }) => name === MAIN);
}

/** Whether a Pod waits for its start. */
export function isGated({ spec }: Pod): boolean {
  return (spec.schedulingGates ?? []).length > 0;
}

/** The Secret that a Pod needs until it is started; undefined: none. */
export function findSecret({ metadata }: Pod): string | undefined {
  const name = metadata.annotations?.[SECRET_ANNOTATION] ?? '';
  return OWN_SECRET.test(name) ? name : undefined;
}

/** Whether a Pod was given secrets, whose values can be read from nowhere any more. */
export function hasSecrets({ metadata }: Pod): boolean {
  return metadata.annotations?.[SECRETS_ANNOTATION] !== '';
}

export function readState(pod: Pod): ContainerStatus['state'] {
  const { phase } = pod.status ?? {};
  const { state } = findMain(pod) ?? {};
  if (phase === 'Succeeded' || phase === 'Failed' || state?.terminated) return 'exited';
  return state?.running ? 'running' : 'created';
}

/** The status of a Pod of ours; undefined for any other Pod. `now`: wall time in milliseconds. */
export function readPodStatus(pod: Pod, now: number): ContainerStatus | undefined {
  const owner = readOwner(pod.metadata.labels, pod.metadata.annotations ?? {});
  if (!owner) return undefined;
  const state = readState(pod);
  const { terminated, running } = findMain(pod)?.state ?? {};
  const startedAt = terminated?.startedAt ?? running?.startedAt;
  return {
    id: pod.metadata.uid,
    name: pod.metadata.name,
    owner,
    state,
    health: readHealth(pod, now),
    exitCode: state === 'exited' ? (terminated?.exitCode ?? KILLED) : undefined,
    user: readUser(pod),
    ...(startedAt !== undefined && state !== 'created' && { startedAt: toTime(startedAt) }),
    ...(state === 'exited' && { endedAt: toTime(terminated?.finishedAt ?? findLastChange(pod)) }),
    ...(terminated?.reason === 'OOMKilled' && { oomKilled: true }),
  };
}

/** A Pod that was ready and is not any more is unhealthy at once; one that never was has the time of its first checks. */
function readHealth(pod: Pod, now: number): ContainerStatus['health'] {
  const main = findMain(pod);
  const startedAt = Date.parse(main?.state?.running?.startedAt ?? '');
  if (!pod.spec.containers.some(({ readinessProbe }) => readinessProbe) || Number.isNaN(startedAt)) return 'none';
  if (main?.ready) return 'healthy';
  const ready = pod.status?.conditions?.find(({ type }) => type === 'ContainersReady');
  const wasReady = Date.parse(ready?.lastTransitionTime ?? '') > startedAt;
  return wasReady || now > findCheckDeadline(pod) ? 'unhealthy' : 'starting';
}

/** When a running Pod that was never ready begins to count as unhealthy, in wall time; NaN: never. */
export function findCheckDeadline(pod: Pod): number {
  const startedAt = Date.parse(findMain(pod)?.state?.running?.startedAt ?? '');
  return startedAt + Number(pod.metadata.annotations?.[START_PERIOD_ANNOTATION] ?? Number.NaN) * 1000;
}

/** Never empty, which would mean root: no Pod of ours runs as root. */
function readUser(pod: Pod): string {
  const { uid, gid } = findMain(pod)?.user?.linux ?? {};
  const { runAsUser, runAsGroup } = pod.spec.securityContext ?? {};
  const [user, group] = [uid ?? runAsUser, gid ?? runAsGroup];
  if (user === undefined) return 'nonroot';
  return group === undefined ? String(user) : `${user}:${group}`;
}

function findLastChange({ status }: Pod): string {
  const times = (status?.conditions ?? []).flatMap(({ lastTransitionTime }) => lastTransitionTime ?? []);
  return times.toSorted().at(-1) ?? status?.startTime ?? '';
}

function toTime(text: string): string {
  const ms = Date.parse(text);
  return new Date(Number.isNaN(ms) ? 0 : ms).toISOString();
}

/** How far the start of a Pod is. `refused`: it will not start, or the cluster does not say that it will. */
export type StartProgress =
  | { readonly kind: 'started' }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string; readonly isImage?: true };

const IMAGE_FAILURES = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'RegistryUnavailable']);
const START_FAILURES = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);
const RUNTIME_FAILURES = new Set(['StartError', 'ContainerCannotRun']);

export function readStart(pod: Pod): StartProgress {
  const { waiting, terminated } = findMain(pod)?.state ?? {};
  const { reason = '', message = '' } = waiting ?? terminated ?? {};
  const words = [reason, message].filter(Boolean).join(': ');
  if (terminated && RUNTIME_FAILURES.has(reason)) return { kind: 'refused', message: words };
  if (readState(pod) !== 'created') return { kind: 'started' };
  if (IMAGE_FAILURES.has(reason)) return { kind: 'refused', message: words, isImage: true };
  // The kubelet may learn of the Secret later than of the Pod.
  if (START_FAILURES.has(reason) && !/secret .*not found/i.test(message)) return { kind: 'refused', message: words };
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') return { kind: 'waiting', message: scheduled.message ?? scheduled.reason ?? '' };
  return { kind: 'waiting', message: words };
}

/** The id of the image that the kubelet has got for a Pod; undefined: it has none yet. */
export function findImageId(pod: Pod, image: string): string | undefined {
  const main = findMain(pod);
  const { waiting, terminated, running } = main?.state ?? {};
  const isHere = running ?? terminated ?? (START_FAILURES.has(waiting?.reason ?? '') || undefined);
  if (main?.imageID) return main.imageID;
  return isHere ? `pulled ${image}` : undefined;
}
