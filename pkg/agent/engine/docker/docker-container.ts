import type { HealthCheck } from '../../../../crds/deployment/index.js';
import { parseDuration } from '../../../../crds/grammar/index.js';
import type { ContainerHealth } from '../../../../crds/report/index.js';
import type { ContainerSpec, ContainerStatus, Ownership } from '../engine.js';

/** The label that every container of ours carries: the node whose agent made it. */
export const NODE_LABEL = 'mooring.io/node';

/** The label that names the replica. */
export const REPLICA_LABEL = 'mooring.io/replica';

/** The label of a network that we made. */
export const TENANT_LABEL = 'mooring.io/tenant';

/** Writes ownership as labels. Nothing else ever becomes a label of a container. */
export function toLabels(owner: Ownership): Record<string, string> {
  return {
    [NODE_LABEL]: owner.nodeId,
    [TENANT_LABEL]: owner.tenant,
    'mooring.io/deployment': owner.deployment,
    'mooring.io/deployment-uid': owner.deploymentUid,
    [REPLICA_LABEL]: owner.replica,
    'mooring.io/slot': String(owner.slot),
    'mooring.io/generation': String(owner.generation),
    'mooring.io/template-hash': owner.templateHash,
  };
}

/** Reads ownership back. Undefined when the labels are not all there: then it is not a container of ours. */
export function readOwner(labels: Readonly<Record<string, string>> | null | undefined): Ownership | undefined {
  const read = (name: string) => labels?.[`mooring.io/${name}`] ?? '';
  const owner: Ownership = {
    nodeId: read('node'),
    tenant: read('tenant'),
    deployment: read('deployment'),
    deploymentUid: read('deployment-uid'),
    replica: read('replica'),
    slot: Number.parseInt(read('slot'), 10),
    generation: Number.parseInt(read('generation'), 10),
    templateHash: read('template-hash'),
  };
  const complete = owner.nodeId && owner.tenant && owner.deployment && owner.deploymentUid && owner.replica;
  return complete && owner.slot >= 0 && owner.generation >= 0 ? owner : undefined;
}

/** A health check as the engine takes it. Durations are nanoseconds; what is left out is the engine's default. */
export interface HealthConfig {
  readonly Test: readonly string[];
  readonly Interval?: number;
  readonly Timeout?: number;
  readonly Retries?: number;
  readonly StartPeriod?: number;
}

/** One element is a line for the shell; several are the arguments of a program. */
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

const KEPT_CAPABILITIES = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
];

/**
 * The settings that no tenant has a say in: few capabilities, no new privileges, private namespaces, bounded processes
 * and logs, no core dumps, and no restart by the engine, which would bring a container back before the agent has asked
 * whether it is still wanted.
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

/** The body of a container's creation. Values of the environment travel here and nowhere else. */
export function buildContainerBody(order: ContainerSpec): Record<string, unknown> {
  const ports = order.ports.map(port => ({ ...port, name: `${port.containerPort}/${port.protocol}` }));
  const published = ports.filter(({ hostPort }) => hostPort !== undefined);
  return {
    Image: order.image,
    ...(order.entrypoint ? { Entrypoint: order.entrypoint } : {}),
    ...(order.command ? { Cmd: order.command } : {}),
    ...(order.healthCheck ? { Healthcheck: buildHealthConfig(order.healthCheck) } : {}),
    Env: [
      ...Object.entries(order.environment).map(([name, value]) => `${name}=${value}`),
      ...[...(order.secrets ?? [])].map(([name, secret]) => `${name}=${secret.reveal()}`),
    ],
    Labels: toLabels(order.owner),
    ExposedPorts: Object.fromEntries(ports.map(({ name }) => [name, {}])),
    HostConfig: {
      ...fixedHostConfig,
      NetworkMode: order.network,
      PortBindings: Object.fromEntries(published.map(({ name, hostPort }) => [name, [{ HostPort: String(hostPort) }]])),
    },
    NetworkingConfig: { EndpointsConfig: { [order.network]: { Aliases: [order.alias] } } },
  };
}

/** What we read of `GET /containers/{id}/json`. `Env` and the output of health checks are left where they are. */
export interface ContainerInspection {
  readonly Id: string;
  readonly Name: string;
  readonly Config: { readonly Labels: Readonly<Record<string, string>> | null };
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly Health?: { readonly Status: string } | null;
  };
}

/** A container of ours, or undefined when it is not one. */
export function readContainerStatus({ Id, Name, Config, State }: ContainerInspection): ContainerStatus | undefined {
  const owner = readOwner(Config.Labels);
  if (!owner) return undefined;

  const state = stateOf(State.Status);
  return {
    id: Id,
    name: Name.replace(/^\//, ''),
    owner,
    state,
    health: healthOf(State.Health?.Status),
    exitCode: state === 'exited' ? State.ExitCode : undefined,
  };
}

function stateOf(status: string): ContainerStatus['state'] {
  if (status === 'created') return 'created';
  return status === 'running' || status === 'paused' || status === 'restarting' ? 'running' : 'exited';
}

function healthOf(status: string | undefined): ContainerHealth {
  return status === 'starting' || status === 'healthy' || status === 'unhealthy' ? status : 'none';
}
