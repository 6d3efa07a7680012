import type { ContainerOrder } from '../engine.js';
import { healthConfig } from './health-config.js';
import { labelsOf } from './labels.js';

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
export function containerBody(order: ContainerOrder): Record<string, unknown> {
  const ports = order.ports.map(port => ({ ...port, name: `${port.containerPort}/${port.protocol}` }));
  const published = ports.filter(({ hostPort }) => hostPort !== undefined);
  return {
    Image: order.image,
    ...(order.entrypoint ? { Entrypoint: order.entrypoint } : {}),
    ...(order.command ? { Cmd: order.command } : {}),
    ...(order.healthCheck ? { Healthcheck: healthConfig(order.healthCheck) } : {}),
    Env: [
      ...Object.entries(order.environment).map(([name, value]) => `${name}=${value}`),
      ...[...(order.secrets ?? [])].map(([name, secret]) => `${name}=${secret.reveal()}`),
    ],
    Labels: labelsOf(order.owner),
    ExposedPorts: Object.fromEntries(ports.map(({ name }) => [name, {}])),
    HostConfig: {
      ...fixedHostConfig,
      NetworkMode: order.network,
      PortBindings: Object.fromEntries(published.map(({ name, hostPort }) => [name, [{ HostPort: String(hostPort) }]])),
    },
    NetworkingConfig: { EndpointsConfig: { [order.network]: { Aliases: [order.alias] } } },
  };
}
