import type { StoredObject } from './objects.js';
import type { CallAnswer, FakeKubernetes, KubernetesCall } from './server.js';

/** How the program of a Pod behaves. */
export interface FakeProgram {
  /** What it prints when it starts. */
  readonly prints?: readonly string[];
  /** It ends by itself with this code. Default: it runs until it is ended. */
  readonly exitCode?: number;
  /** It does not end by SIGTERM. */
  readonly ignoresTerm?: boolean;
  /** Its readiness checks fail. */
  readonly isUnready?: boolean;
  /** The words with which a kubelet says that it does not start it: reason and message. */
  readonly refused?: readonly [reason: string, message: string];
}

export interface FakeKubeletOptions {
  readonly namespace: string;
  readonly registryHasImage: (image: string) => boolean;
  /** By name of the Pod. Default: a program that prints a line and runs. */
  readonly program?: (name: string, environment: ReadonlyMap<string, string>) => FakeProgram;
}

interface PodSpec {
  readonly schedulingGates?: readonly unknown[];
  readonly activeDeadlineSeconds?: number;
  readonly containers: readonly PodContainer[];
}

interface PodContainer {
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: readonly PodVariable[];
  readonly readinessProbe?: unknown;
}

interface PodVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Run {
  readonly program: FakeProgram;
  readonly startedAt: string;
  readonly lines: string[];
  state: 'running' | 'ended';
}

/** Scheduler and kubelet of a stand-in cluster: turns Pods into running and ended ones by a model of their programs. */
export class FakeKubelet {
  readonly #cluster: FakeKubernetes;
  readonly #options: FakeKubeletOptions;
  readonly #runs = new Map<string, Run>();
  readonly #stopListening: () => void;
  #isDue = false;

  constructor(cluster: FakeKubernetes, options: FakeKubeletOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#stopListening = cluster.objects.listen(() => this.#wake());
  }

  stop(): void {
    this.#stopListening();
  }

  /** Runs the readiness checks of every Pod once. */
  check(): void {
    for (const pod of this.#list()) {
      const run = this.#runs.get(pod.metadata.uid);
      const isProbed = (pod.spec as PodSpec).containers[0]?.readinessProbe !== undefined;
      if (run?.state === 'running' && isProbed) this.#tell(pod, runningStatus(run, !run.program.isUnready));
    }
  }

  /** Ends the program of a Pod. */
  end(name: string, exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error'): void {
    const pod = this.#list().find(({ metadata }) => metadata.name === name);
    if (pod) this.#end(pod, exitCode, reason);
  }

  /** Answers what an API server asks a kubelet, or a metrics server, for. */
  readonly answer = ({
    method,
    group,
    plural,
    name = '',
    subresource,
    query,
  }: KubernetesCall): CallAnswer | undefined => {
    if (method !== 'GET' || plural !== 'pods') return undefined;
    if (subresource === 'log') {
      const log = this.#readLog(name, query);
      return response => void response.writeHead(log === undefined ? 400 : 200).end(log ?? '');
    }
    if (group !== 'metrics.k8s.io') return undefined;
    const containers = [{ name: 'main', usage: { cpu: '250m', memory: '64Mi' } }];
    const metrics = { timestamp: new Date().toISOString(), containers };
    const type = { 'content-type': 'application/json' };
    const isKnown = this.isRunning(name);
    return response => void response.writeHead(isKnown ? 200 : 404, type).end(JSON.stringify(isKnown ? metrics : {}));
  };

  #readLog(name: string, query: URLSearchParams): string | undefined {
    const pod = this.#list().find(({ metadata }) => metadata.name === name);
    const run = pod && this.#runs.get(pod.metadata.uid);
    if (!run) return undefined;
    const since = query.get('sinceTime') ?? '';
    const lines = run.lines.filter(line => line.slice(0, line.indexOf(' ')) >= since);
    const tail = query.get('tailLines');
    return (tail === null ? lines : lines.slice(-Number(tail))).join('');
  }

  isRunning(name: string): boolean {
    const pod = this.#list().find(({ metadata }) => metadata.name === name);
    return pod !== undefined && this.#runs.get(pod.metadata.uid)?.state === 'running';
  }

  #wake(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      for (const pod of this.#list()) this.#sync(pod);
    });
  }

  #sync(pod: StoredObject): void {
    const spec = pod.spec as PodSpec;
    const run = this.#runs.get(pod.metadata.uid);
    const { deletionTimestamp, deletionGracePeriodSeconds: grace = 0 } = pod.metadata;
    const mayEnd = run && (!run.program.ignoresTerm || (deletionTimestamp !== undefined && grace <= 1));
    if (run?.state === 'running' && mayEnd && (deletionTimestamp !== undefined || spec.activeDeadlineSeconds === 1)) {
      return this.#end(pod, run.program.ignoresTerm ? 137 : 143, 'Error', 'DeadlineExceeded');
    }
    if (deletionTimestamp !== undefined && run?.state !== 'running') {
      this.#cluster.objects.delete(this.#place('pods'), pod.metadata.name, 0);
    } else if (!run && deletionTimestamp === undefined && !spec.schedulingGates?.length) this.#start(pod, spec);
  }

  #start(pod: StoredObject, { containers: [container] }: PodSpec): void {
    if (!container) return;
    const { image, env = [], command } = container;
    const { registryHasImage, program = () => ({ prints: ['hello'] }) } = this.#options;
    if (!registryHasImage(image)) return this.#wait(pod, 'ErrImagePull', `${image}: manifest unknown: not found`);
    const environment = this.#readVariables(env);
    if (typeof environment === 'string') return this.#wait(pod, 'CreateContainerConfigError', environment);
    const behaviour: FakeProgram = program(pod.metadata.name, environment);
    if (behaviour.refused) return this.#wait(pod, ...behaviour.refused);
    const startedAt = new Date().toISOString();
    const nanos = (position: number) => startedAt.replace('Z', `${String(position).padStart(6, '0')}Z`);
    const lines = (behaviour.prints ?? []).map((line, position) => `${nanos(position)} ${line}\n`);
    const run: Run = { program: behaviour, startedAt, lines, state: 'running' };
    this.#runs.set(pod.metadata.uid, run);
    if (command?.[0] === '/mooring-pulls-only') return this.#end(pod, 128, 'StartError');
    this.#tell(pod, runningStatus(run, container.readinessProbe === undefined));
    if (behaviour.exitCode !== undefined) this.end(pod.metadata.name, behaviour.exitCode);
  }

  /** The variables of a container; in words what is missing for them. */
  #readVariables(variables: readonly PodVariable[]): ReadonlyMap<string, string> | string {
    const read = new Map<string, string>();
    for (const { name, value = '', valueFrom } of variables) {
      const { name: secret, key } = valueFrom?.secretKeyRef ?? { name: '', key: '' };
      const found = valueFrom && this.#cluster.objects.find(this.#place('secrets'), secret);
      if (valueFrom && !found) return `secret "${secret}" not found`;
      const held = (found?.['data'] as Record<string, string> | undefined)?.[key] ?? '';
      read.set(name, valueFrom ? Buffer.from(held, 'base64').toString() : value);
    }
    return read;
  }

  #wait(pod: StoredObject, reason: string, message: string): void {
    const containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason, message } } }];
    this.#tell(pod, { phase: 'Pending', containerStatuses });
  }

  #end(pod: StoredObject, exitCode: number, reason: string, why?: string): void {
    const run = this.#runs.get(pod.metadata.uid);
    if (run?.state !== 'running') return;
    run.state = 'ended';
    const { startedAt } = run;
    const terminated = { exitCode, reason, startedAt, finishedAt: new Date().toISOString() };
    const containerStatuses = [{ name: 'main', ready: false, imageID: 'sha256:1', state: { terminated } }];
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
    this.#tell(pod, { phase, ...(why && { reason: why }), containerStatuses });
    this.#wake();
  }

  #tell({ metadata: { name, uid } }: StoredObject, status: object): void {
    const present = this.#cluster.objects.find(this.#place('pods'), name);
    if (present?.metadata.uid !== uid) return;
    this.#cluster.objects.replace(this.#place('pods'), name, { ...present, status }, 'status');
  }

  #list(): readonly StoredObject[] {
    return this.#cluster.objects.list(this.#place('pods'));
  }

  #place(plural: string) {
    return { group: '', version: 'v1', plural, namespace: this.#options.namespace };
  }
}

function runningStatus({ startedAt }: Run, ready: boolean) {
  const containerStatuses = [{ name: 'main', ready, imageID: 'sha256:1', state: { running: { startedAt } } }];
  const conditions = [{ type: 'ContainersReady', status: ready ? 'True' : 'False', lastTransitionTime: startedAt }];
  return { phase: 'Running', conditions, containerStatuses };
}
