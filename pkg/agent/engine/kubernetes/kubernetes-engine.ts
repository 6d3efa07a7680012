import type { NodeFeature } from '../../../../crds/node/index.js';
import { type Clock, type Random, systemClock, systemRandom } from '../../../clock/index.js';
import { type Logger, silentLogger } from '../../../log/index.js';
import {
  claimName,
  type ContainerLogOptions,
  type ContainerSpec,
  type ContainerStatus,
  type ContainerUsage,
  type Engine,
  type EngineFacts,
  EngineRefusedFault,
  type ImageLogin,
  ImageMissingFault,
  type LogEntry,
  NameConflictFault,
  type OnEngineEvent,
} from '../engine.js';
import { LAST_LINES, readEnd } from '../log-entries.js';
import { NODE_LABEL, readOwner, TENANT_LABEL } from '../ownership-labels.js';
import { type RedactedOutput, redactOutput } from '../redact.js';
import type { OnPullProgress } from '../container-parts.js';
import { toPullFault } from '../docker/pull-failure.js';
import { type ClusterCapacity, readCapacity, type ResourceQuota } from './capacity.js';
import { KubernetesApi, type KubernetesPlace } from './kubernetes-api.js';
import { buildPod } from './pod.js';
import { followPods } from './pod-events.js';
import { readContainerLog } from './pod-logs.js';
import { needsSecret, PodSecrets } from './pod-secrets.js';
import { hasSecrets, isGated, type Pod, readPodStatus, readStart, readState } from './pod-status.js';
import { PodUsage } from './pod-usage.js';
import { Pods } from './pods.js';
import { isPullPod, PullPods } from './pull-pod.js';

const PING_MS = 5_000;
const LOGS_WITHIN_MS = 10_000;
const START_WITHIN_MS = 180_000;
const STOP_SLACK_MS = 10_000;

export interface KubernetesEngineOptions extends KubernetesPlace {
  /** Default: what the ResourceQuota of the namespace says. */
  readonly capacity?: ClusterCapacity | undefined;
  /** What a container may write to its own file system, in bytes. */
  readonly diskBytes?: number | undefined;
  readonly graceSeconds?: number;
  /** What the kubelet takes to notice that a Pod is to end, and to report that it has ended. */
  readonly stopSlackMs?: number;
  readonly log?: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Runs each container as a Pod of one namespace of a Kubernetes cluster. */
export class KubernetesEngine implements Engine {
  /** What a Pod cannot do as a container of one machine can. */
  readonly lacks: readonly NodeFeature[] = [
    'volumes',
    'networks',
    'host_ports',
    'named_users',
    'pid_limits',
    'pre_stop',
  ];
  readonly startsOnce = true;
  readonly #options: KubernetesEngineOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #api: KubernetesApi;
  readonly #pods: Pods;
  readonly #secrets: PodSecrets;
  readonly #pulls: PullPods;
  readonly #usage: PodUsage;
  /** What was pulled, and with which login: in memory only, so that another agent pulls it again. */
  readonly #images = new Map<string, { readonly id: string; readonly login: ImageLogin | undefined }>();

  constructor(options: KubernetesEngineOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#api = new KubernetesApi(options);
    this.#pods = new Pods(this.#api, this.#clock);
    this.#secrets = new PodSecrets(this.#api);
    const parts = { pods: this.#pods, secrets: this.#secrets, clock: this.#clock, random: this.#random };
    this.#pulls = new PullPods(parts);
    this.#usage = new PodUsage(this.#api);
  }

  async ping(): Promise<void> {
    await this.#api.call('GET', '/version', { silenceMs: PING_MS });
  }

  async facts(): Promise<EngineFacts> {
    const { body } = await this.#api.call<{ gitVersion: string; major: string; minor: string }>('GET', '/version');
    const capacity = this.#options.capacity ?? (await this.#readCapacity());
    const apiVersion = `${body.major}.${body.minor}`;
    return { name: 'kubernetes', version: body.gitVersion, apiVersion, ...capacity };
  }

  async #readCapacity(): Promise<ClusterCapacity> {
    const path = await this.#api.path('resourcequotas');
    const { body } = await this.#api.call<{ readonly items: readonly ResourceQuota[] }>('GET', path);
    return readCapacity(body.items, await this.#api.namespace());
  }

  conditions = () => [];

  async list(nodeId: string): Promise<readonly ContainerStatus[]> {
    const pods = await this.#pods.list(`${NODE_LABEL}=${nodeId}`);
    // An agent that ended may have left the Secret of a Pod that it had started, or a Pod that pulls.
    for (const pod of pods) {
      if (isPullPod(pod)) await this.#pulls.removeLeft(pod);
      else if (readState(pod) !== 'created') await this.#clear(pod);
    }
    return pods.flatMap(pod => readPodStatus(pod, this.#clock.now()) ?? []);
  }

  async listNodeIds(tenant: string): Promise<readonly string[]> {
    const pods = await this.#pods.list(`${TENANT_LABEL}=${tenant}`);
    return [...new Set(pods.flatMap(({ metadata }) => readOwner(metadata.labels)?.nodeId ?? []))];
  }

  async inspect(id: string): Promise<ContainerStatus | undefined> {
    const pod = await this.#pods.find(id);
    return pod && readPodStatus(pod, this.#clock.now());
  }

  /** The cluster holds Pods to what they may write. */
  measureDisk(): Promise<ReadonlyMap<string, number>> {
    return Promise.resolve(new Map());
  }

  async readUsage(id: string): Promise<ContainerUsage | undefined> {
    const pod = await this.#pods.find(id);
    return pod && readState(pod) === 'running' ? this.#usage.read(id, pod.metadata.name) : undefined;
  }

  findImage(image: string): Promise<string | undefined> {
    return Promise.resolve(this.#images.get(image)?.id);
  }

  async pull(image: string, login?: ImageLogin, onProgress?: OnPullProgress, nodeId?: string): Promise<void> {
    const id = await this.#pulls.pull({ image, login, onProgress, nodeId });
    this.#images.set(image, { id, login });
  }

  /** The kubelets do that. */
  pruneImages(): Promise<void> {
    return Promise.resolve();
  }

  ensureNetwork(): Promise<void> {
    return Promise.reject(
      new EngineRefusedFault(501, 'a node that is a Kubernetes cluster has no networks of tenants: use another node'),
    );
  }

  removeNetworks(): Promise<number> {
    return Promise.resolve(0);
  }

  joinNetworks(): Promise<void> {
    return this.ensureNetwork();
  }

  async create(spec: ContainerSpec): Promise<string> {
    const image = this.#images.get(spec.image);
    if (!image) throw new ImageMissingFault(spec.image);
    if (spec.networks?.length) await this.ensureNetwork();
    const [host = ''] = spec.image.split('/');
    const login = image.login && { ...image.login, host };
    const secret = needsSecret(spec, login) ? `mooring-${this.#random.bytes(16).toString('hex')}` : undefined;
    const { diskBytes, graceSeconds = 10 } = this.#options;
    const parts = { secret, hasLogin: login !== undefined, diskBytes, graceSeconds };
    const pod = (await this.#pods.create(buildPod(spec, parts))) ?? (await this.#settleName(spec));
    if (!pod) return this.create(spec);
    if (isGated(pod)) await this.#secrets.write(pod, { secrets: spec.secrets, login });
    return pod.metadata.uid;
  }

  /** The Pod of the name, when it is that of the replica; undefined when the name is free now. */
  async #settleName(spec: ContainerSpec): Promise<Pod | undefined> {
    const holder = await this.#pods.findByName(spec.name);
    if (!holder) return undefined;
    const claim = claimName(readOwner(holder.metadata.labels), spec.owner);
    if (claim === 'conflict') throw new NameConflictFault(spec.name);
    if (claim === 'adopt' && holder.metadata.deletionTimestamp === undefined) return holder;
    await this.#remove(holder);
    return undefined;
  }

  async start(id: string): Promise<void> {
    const pod = await this.#pods.find(id);
    if (!pod) throw new EngineRefusedFault(404, `no such Pod: ${id}`);
    if (readState(pod) === 'exited') {
      throw new EngineRefusedFault(409, 'a Pod that has ended is not started again: a new one takes its place');
    }
    if (isGated(pod)) await this.#pods.ungate(pod);
    let last = '';
    const isStarted = await this.#pods.wait(async () => {
      const seen = await this.#pods.find(id);
      if (!seen) throw new EngineRefusedFault(404, 'the Pod was removed before it started');
      const start = readStart(seen);
      if (start.kind === 'refused') return this.#refuseStart(pod, start.message, start.isImage);
      if (start.kind === 'waiting') last = start.message;
      return start.kind === 'started';
    }, START_WITHIN_MS);
    if (!isStarted) await this.#refuseStart(pod, last || 'it does not say why');
    await this.#clear(await this.#pods.find(id));
  }

  /** A Pod that does not start is gone before that is said: it can start no later. */
  async #refuseStart(pod: Pod, message: string, isImage = false): Promise<never> {
    await this.#remove(pod);
    // Its login may have been replaced: the image is pulled again first, with the one of then.
    if (isImage) this.#images.delete(pod.spec.containers[0]?.image ?? '');
    const words = isImage ? toPullFault(message).message : message;
    throw new EngineRefusedFault(422, `the cluster does not start the Pod: ${words}`);
  }

  /** Ends a Pod so that its exit code and log stay; one that does not end in time is deleted. */
  async stop(id: string, graceSeconds: number): Promise<void> {
    const pod = await this.#pods.find(id);
    if (!pod || readState(pod) === 'exited' || isGated(pod)) return;
    await this.#pods.end(pod);
    const hasEnded = async () => {
      const seen = await this.#pods.find(id);
      return !seen || readState(seen) === 'exited';
    };
    const { stopSlackMs = STOP_SLACK_MS } = this.#options;
    if (!(await this.#pods.wait(hasEnded, graceSeconds * 1000 + stopSlackMs))) await this.#remove(pod);
  }

  /** Not offered: a node of this engine says so, and is given nothing that needs it. */
  exec(): Promise<number | undefined> {
    return Promise.resolve(undefined);
  }

  async remove(id: string): Promise<void> {
    const pod = await this.#pods.find(id);
    if (pod) await this.#remove(pod);
  }

  async #remove(pod: Pod): Promise<void> {
    await this.#pods.remove(pod);
    await this.#secrets.drop(pod);
  }

  /** What fails is tried again with the next list. */
  async #clear(pod: Pod | undefined): Promise<void> {
    if (pod) await this.#secrets.clear(pod).catch(() => undefined);
  }

  events(nodeId: string, onEvent: OnEngineEvent, signal: AbortSignal): Promise<void> {
    const { log = silentLogger } = this.#options;
    return followPods({ api: this.#api, clock: this.#clock, log, nodeId }, onEvent, signal);
  }

  /** The values of secrets can be read from nowhere, so the output of what was given some is withheld. */
  async readLastLines(id: string): Promise<RedactedOutput> {
    const pod = await this.#pods.find(id);
    if (!pod) return {};
    const end = await readEnd(this.logs(id, { tail: LAST_LINES }, AbortSignal.timeout(LOGS_WITHIN_MS)));
    return redactOutput(end.lines, hasSecrets(pod) ? undefined : [], { start: end.isCut });
  }

  async *logs(id: string, options: ContainerLogOptions, signal: AbortSignal): AsyncGenerator<LogEntry> {
    try {
      const pod = await this.#pods.find(id);
      if (!pod) throw new EngineRefusedFault(404, `no such Pod: ${id}`);
      yield* readContainerLog(this.#api, pod.metadata.name, options, signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  close(): Promise<void> {
    this.#api.close();
    return Promise.resolve();
  }
}
