import type { HealthCheck } from '../../../../crds/deployment/index.js';
import { parseDuration } from '../../../../crds/grammar/index.js';
import type { ContainerHealth, FailedCheck } from '../../../../crds/report/index.js';
import type { ContainerMount } from '../container-parts.js';
import type { ContainerSpec, ContainerStatus } from '../engine.js';
import { readOwner, toLabels, toNotes } from '../ownership-labels.js';
import { redactOutput } from '../redact.js';

/**
 * The names of the variables that hold secrets, joined by commas: what a container writes can be cleared of their values,
 * also by an agent that did not create it.
 */
const SECRETS_LABEL = 'mooring.io/secret-variables';

/** The networks that a container is to be on, joined by commas, where that is not its tenant's own. */
const NETWORKS_LABEL = 'mooring.io/networks';

/** A health check in Docker's format. Durations are nanoseconds; a missing field means the engine's default. */
export interface HealthConfig {
  readonly Test: readonly string[];
  readonly Interval?: number;
  readonly Timeout?: number;
  readonly Retries?: number;
  readonly StartPeriod?: number;
}

/** A command of one element is a shell line; several elements are the arguments of a program. */
export function buildHealthConfig({ command, interval, timeout, retries, startPeriod }: HealthCheck): HealthConfig {
  return {
    Test: command.length === 1 ? ['CMD-SHELL', ...command] : ['CMD', ...command],
    ...nanoseconds('Interval', interval),
    ...nanoseconds('Timeout', timeout),
    ...nanoseconds('StartPeriod', startPeriod),
    ...(retries === undefined ? {} : { Retries: retries }),
  };
}

function nanoseconds(name: string, duration: string | undefined): Record<string, number> {
  const ms = duration === undefined ? undefined : parseDuration(duration);
  return ms === undefined ? {} : { [name]: Math.round(ms * 1e6) };
}

const KEPT_CAPABILITIES = 'CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID'.split(
  ' ',
);

/**
 * The settings that a tenant cannot change: few capabilities, no new privileges, private namespaces, bounded processes
 * and logs, no core dumps, and no restart by the engine, which would bring a container back before the agent knows
 * whether it is still assigned.
 */
export const fixedHostConfig = {
  Privileged: false,
  CapDrop: ['ALL'],
  CapAdd: KEPT_CAPABILITIES,
  SecurityOpt: ['no-new-privileges'],
  PidsLimit: 512,
  Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
  LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
  IpcMode: 'private',
  PidMode: '',
  UTSMode: '',
  UsernsMode: '',
  RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
  AutoRemove: false,
  PublishAllPorts: false,
  Binds: [],
  Mounts: [],
  Devices: [],
  VolumesFrom: [],
  Links: [],
  ExtraHosts: [],
  Sysctls: {},
  CgroupParent: '',
} as const;

/**
 * Never assigned to anyone. An engine passes names on that it does not know, from the machine itself where its own resolver is
 * there: through that, a container on an internal network would speak to the outside.
 */
const NO_RESOLVER = '192.0.2.1';

/**
 * The body of `POST /containers/create`: the only place where secret values are written out. Host ports listen at
 * `address`; empty: at every address of the machine.
 */
export function buildContainerBody(spec: ContainerSpec, address = ''): Record<string, unknown> {
  const ports = spec.ports.map(port => ({ ...port, name: `${port.containerPort}/${port.protocol}` }));
  const network = spec.networks?.[0] ?? spec.network;
  const published = ports.filter(({ hostPort }) => hostPort !== undefined);
  return {
    Image: spec.image,
    ...(spec.user === undefined ? {} : { User: spec.user }),
    ...(spec.entrypoint ? { Entrypoint: spec.entrypoint } : {}),
    ...(spec.command ? { Cmd: spec.command } : {}),
    ...(spec.healthCheck ? { Healthcheck: buildHealthConfig(spec.healthCheck) } : {}),
    Env: [
      ...Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
      ...[...(spec.secrets ?? [])].map(([name, secret]) => `${name}=${secret.reveal()}`),
    ],
    Labels: {
      ...toLabels(spec.owner),
      ...toNotes(spec.owner),
      [SECRETS_LABEL]: [...(spec.secrets?.keys() ?? [])].join(','),
      ...(spec.networks?.length && { [NETWORKS_LABEL]: spec.networks.join(',') }),
    },
    ExposedPorts: Object.fromEntries(ports.map(({ name }) => [name, {}])),
    HostConfig: {
      ...fixedHostConfig,
      ...buildLimits(spec),
      Mounts: (spec.mounts ?? []).map(toMount),
      NetworkMode: network,
      ...(spec.isInternal && { Dns: [NO_RESOLVER] }),
      PortBindings: Object.fromEntries(
        published.map(({ name, hostPort }) => [name, [{ HostIp: address, HostPort: String(hostPort) }]]),
      ),
    },
    NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: [spec.alias] } } },
  };
}

/** No mount made inside the container, or on the machine later, crosses the border; `source` exists, or the create is refused. */
function toMount(mount: ContainerMount): Record<string, unknown> {
  const { target: Target, readOnly: ReadOnly } = mount;
  if (mount.kind === 'tmpfs') {
    return { Type: 'tmpfs', Target, ReadOnly, TmpfsOptions: { SizeBytes: mount.sizeBytes, Mode: 0o1777 } };
  }
  return { Type: 'bind', Source: mount.source, Target, ReadOnly, BindOptions: { Propagation: 'rprivate' } };
}

/** With a read-only root file system, `/tmp` and `/run` stay writable, in memory and bounded. */
const SCRATCH = { '/tmp': 'rw,noexec,nosuid,nodev,size=64m', '/run': 'rw,noexec,nosuid,nodev,size=16m' };

function buildLimits({ limits = {}, readOnlyRootFilesystem = false }: ContainerSpec): Record<string, unknown> {
  const { cpu, memory, pids } = limits;
  return {
    ...(cpu === undefined ? {} : { NanoCpus: cpu * 1e6 }),
    ...(memory === undefined ? {} : { Memory: memory, MemorySwap: memory }),
    ...(pids === undefined ? {} : { PidsLimit: Math.min(pids, fixedHostConfig.PidsLimit) }),
    ...(readOnlyRootFilesystem ? { ReadonlyRootfs: true, Tmpfs: SCRATCH } : {}),
  };
}

/** The fields that we read of `GET /containers/{id}/json`. `Env` is read only to clear output of what it holds. */
export interface ContainerInspection {
  readonly Id: string;
  readonly Name: string;
  readonly Config: {
    readonly Labels: Readonly<Record<string, string>> | null;
    readonly Env?: readonly string[] | null;
    readonly User?: string;
  };
  readonly NetworkSettings?: { readonly Networks?: Readonly<Record<string, unknown>> | null };
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly OOMKilled?: boolean;
    readonly StartedAt?: string;
    readonly FinishedAt?: string;
    readonly Health?: { readonly Status: string; readonly Log?: readonly HealthProbe[] | null } | null;
  };
}

/** One run of a health check. */
interface HealthProbe {
  readonly End: string;
  readonly ExitCode: number;
  readonly Output: string;
}

/** The status of a container of ours; undefined for any other container. */
export function readContainerStatus(inspection: ContainerInspection): ContainerStatus | undefined {
  const { Id, Name, Config, State } = inspection;
  const owner = readOwner(Config.Labels);
  if (!owner) return undefined;

  const state = toState(State.Status);
  const lacksNetworks = listLackedNetworks(inspection);
  const failedCheck = state === 'running' ? readFailedCheck(inspection) : undefined;
  return {
    id: Id,
    name: Name.replace(/^\//, ''),
    owner,
    state,
    health: toHealth(State.Health?.Status),
    exitCode: state === 'exited' ? State.ExitCode : undefined,
    user: Config.User ?? '',
    ...(state !== 'created' && State.StartedAt && { startedAt: toTime(State.StartedAt) }),
    ...(state === 'exited' && State.FinishedAt && { endedAt: toTime(State.FinishedAt) }),
    ...(state === 'exited' && State.OOMKilled && { oomKilled: true }),
    ...(failedCheck && { failedCheck }),
    ...(lacksNetworks.length > 0 && { lacksNetworks }),
  };
}

/** Whether a container is to be on other networks than its tenant's own. */
export function hasNamedNetworks({ Config }: ContainerInspection): boolean {
  return Config.Labels?.[NETWORKS_LABEL] !== undefined;
}

function listLackedNetworks({ Config, NetworkSettings }: ContainerInspection): readonly string[] {
  const wanted = Config.Labels?.[NETWORKS_LABEL]?.split(',') ?? [];
  return wanted.filter(name => !Object.hasOwn(NetworkSettings?.Networks ?? {}, name));
}

/** The values of the secrets of a container. Undefined when it was created by a release that did not label them. */
export function readSecretValues({ Config }: ContainerInspection): readonly string[] | undefined {
  const label = Config.Labels?.[SECRETS_LABEL];
  if (label === undefined) return undefined;
  const names = new Set(label.split(','));
  const variables = (Config.Env ?? []).map(entry => [entry.split('=', 1)[0]!, entry] as const);
  return variables.filter(([name]) => names.has(name)).map(([name, entry]) => entry.slice(name.length + 1));
}

/** The engine keeps so many bytes of what a health check writes, and appends three dots to what it has cut. */
const PROBE_OUTPUT_BYTES = 4096;
const TIMED_OUT = -1;

/** The last health check of a container, when it failed. */
function readFailedCheck(inspection: ContainerInspection): FailedCheck | undefined {
  const probe = inspection.State.Health?.Log?.at(-1);
  if (!probe || probe.ExitCode === 0) return undefined;
  const end = Buffer.byteLength(probe.Output) >= PROBE_OUTPUT_BYTES;
  return {
    exitCode: probe.ExitCode,
    at: toTime(probe.End),
    ...(probe.ExitCode === TIMED_OUT && { timedOut: true }),
    ...redactOutput(end ? probe.Output.replace(/\.{3}$/, '') : probe.Output, readSecretValues(inspection), { end }),
  };
}

/** The engine writes times with a zone and nanoseconds. */
function toTime(text: string): string {
  const ms = Date.parse(text);
  return new Date(Number.isNaN(ms) ? 0 : ms).toISOString();
}

function toState(status: string): ContainerStatus['state'] {
  if (status === 'created') return 'created';
  return status === 'running' || status === 'paused' || status === 'restarting' ? 'running' : 'exited';
}

function toHealth(status: string | undefined): ContainerHealth {
  return status === 'starting' || status === 'healthy' || status === 'unhealthy' ? status : 'none';
}
