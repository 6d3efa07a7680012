import { isIP } from 'node:net';
import { hostname } from 'node:os';

import { Command, InvalidArgumentError, Option } from 'commander';

import { parseCpu, parseDuration, parseMemory, parsePortRange, type PortRange } from '../../crds/grammar/index.js';
import type { LogFormat, LogLevel } from '../log/index.js';
import { type PeerAddress, parsePeerAddress } from './replication/index.js';
import type { VolumeDriverChoice } from './volumes/index.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** What `moor agent` is started with. */
export interface AgentFlags {
  readonly server: string;
  readonly caFile?: string;
  readonly plainHttp: boolean;
  readonly name: string;
  readonly stateDir: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly joinTokenFile?: string;
  readonly engine: 'docker' | 'kubernetes' | 'simulated';
  readonly dockerHost: string;
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly capacity?: { readonly cpu: number; readonly memory: number };
  readonly namePrefix: string;
  readonly controlPlane: boolean;
  readonly stopGraceSeconds: number;
  readonly reservedHostPorts: readonly PortRange[];
  readonly hostPortAddress: string;
  readonly containerDiskLimit?: number;
  readonly registryLoginsFile: string;
  readonly volumeDriver: VolumeDriverChoice;
  readonly volumeReserve: number;
  /** Milliseconds. */
  readonly volumeKeepRemoved: number;
  readonly bindRoot: readonly string[];
  readonly volumeListen?: PeerAddress;
  readonly volumeAddress?: string;
  readonly volumeBandwidth?: number;
  readonly metricsListen?: string;
  readonly traceEndpoint: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

function collectLabels(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = text.split(',').map(pair => /^([^=]+)=(.*)$/.exec(pair)?.slice(1));
  if (!pairs.every(pair => pair !== undefined))
    throw new InvalidArgumentError('must be key=value, separated by commas');
  return { ...before, ...Object.fromEntries(pairs) };
}

function wholeSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('must be a number of seconds');
  return Number(text);
}

/** Reads the arguments; ends the process when they cannot be understood. */
export function readFlags(argv: readonly string[], environment: NodeJS.ProcessEnv): AgentFlags {
  const command = new Command('moor agent')
    .description('run the agent of this machine')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .requiredOption('--server <url>', 'address of the API server', environment['MOORING_SERVER'])
    .option('--ca-file <path>', 'certificate authority to trust, when the server’s is not a public one')
    .option('--plain-http', 'accept a server without TLS, which cannot be authenticated: for tests only', false)
    .option('--name <name>', 'name of this node', hostname().toLowerCase().split('.')[0])
    .option('--state-dir <folder>', 'where the node’s key and token are kept', '/var/lib/mooring')
    .option('--labels <key=value,…>', 'labels to advertise; may be repeated', collectLabels, {})
    .option('--join-token-file <path>', 'file with the join token (or MOORING_JOIN_TOKEN)')
    .addOption(
      new Option('--engine <engine>', 'what runs containers')
        .choices(['docker', 'kubernetes', 'simulated'])
        .default('docker'),
    )
    .option(
      '--docker-host <address>',
      'where the engine listens',
      environment['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock',
    )
    .option('--kubeconfig <path>', 'the cluster of the engine kubernetes; default: the one that the agent runs in')
    .option('--namespace <name>', 'where the engine kubernetes makes Pods; default: that of the kubeconfig')
    .option('--capacity <cpu=…,memory=…>', 'what the node has; default: the ResourceQuota of the namespace', capacity)
    .option('--name-prefix <text>', 'goes before container names, where agents share an engine', '')
    .option('--control-plane', 'this machine runs the control plane itself', false)
    .option('--stop-grace-seconds <seconds>', 'time between SIGTERM and SIGKILL', wholeSeconds, 10)
    .option('--reserved-host-ports <ports>', 'host ports that no container gets, as 7070,2379-2380', portRanges, [])
    .option('--host-port-address <address>', 'address that host ports listen at; empty: every one', ipAddress, '')
    .option('--container-disk-limit <amount>', 'what a container may write to its own file system, as 10Gi', bytes)
    .option('--registry-logins-file <path>', 'logins for registries, as docker login writes it', '')
    .addOption(
      new Option('--volume-driver <driver>', 'what volumes of this node are kept in; auto: btrfs where it can be used')
        .choices(['auto', 'btrfs', 'directory'])
        .default('auto'),
    )
    .option('--volume-reserve <amount>', 'what volumes leave free on the disk of the state folder', bytes, 2 ** 30)
    .addOption(
      new Option('--volume-keep-removed <duration>', 'for how long removed volumes stay on this disk; 0s: not at all')
        .argParser(duration)
        .default(DAY_MS, '24h'),
    )
    .option(
      '--bind-root <folder>',
      'folder whose subfolders may be volumes of type bind, each by the name of its volume; may be repeated',
      (folder: string, before: readonly string[]) => [...before, folder],
      [],
    )
    .option(
      '--volume-listen <host:port>',
      'where copies of volumes are received; without it the node takes none',
      address,
    )
    .option('--volume-address <host:port>', 'where other nodes reach that; default: where it listens', addressText)
    .option('--volume-bandwidth <amount>', 'what is sent of volumes in a second, as 50Mi; default: no limit', bytes)
    .option('--metrics-listen <host:port>', 'where metrics are served; a port alone: on loopback', metricsAddress)
    .option(
      '--trace-endpoint <url>',
      'collector that spans of containers for traced requests are sent to; default: none',
      environment['MOORING_TRACE_ENDPOINT'] ?? '',
    )
    .addOption(new Option('--log-level <level>').choices(['error', 'warn', 'info', 'debug']).default('info'))
    .addOption(new Option('--log-format <format>').choices(['json', 'pretty']).default('json'))
    .addHelpText('after', '\nRemoved volumes that are still on this machine: moor agent volumes --help');
  const flags = command.parse(argv, { from: 'user' }).opts<AgentFlags>();
  const unused = listUnused(flags.engine).filter(name => command.getOptionValueSource(toAttribute(name)) === 'cli');
  for (const name of unused) command.error(`error: --${name} says nothing to the engine ${flags.engine}: leave it out`);
  return flags;
}

const FOR_MACHINES = 'docker-host host-port-address reserved-host-ports registry-logins-file'.split(' ');
const FOR_VOLUMES =
  'volume-driver volume-reserve volume-keep-removed bind-root volume-listen volume-address volume-bandwidth'.split(' ');
const FOR_CLUSTERS = ['kubeconfig', 'namespace', 'capacity'];

/** Options that an engine has no use for: one that would do nothing is refused. */
function listUnused(engine: AgentFlags['engine']): readonly string[] {
  return engine === 'kubernetes' ? [...FOR_MACHINES, ...FOR_VOLUMES] : FOR_CLUSTERS;
}

function toAttribute(option: string): string {
  return option.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function capacity(text: string): NonNullable<AgentFlags['capacity']> {
  const [, cores = '', amount = ''] = /^cpu=([^,]+),memory=([^,]+)$/.exec(text) ?? [];
  const [cpu, memory] = [parseCpu(cores) ?? 0, parseMemory(amount) ?? 0];
  if (cpu <= 0 || memory <= 0) throw new InvalidArgumentError('must be such as cpu=16,memory=64Gi');
  return { cpu, memory };
}

function portRanges(text: string): readonly PortRange[] {
  return text.split(',').map(each => {
    const range = parsePortRange(each);
    if (!range) throw new InvalidArgumentError('must be ports and ranges, separated by commas, as 7070,2379-2380');
    return range;
  });
}

function bytes(text: string): number {
  const amount = parseMemory(text) ?? 0;
  if (amount <= 0) throw new InvalidArgumentError('must be bytes with a unit such as 512Mi or 10Gi, above zero');
  return amount;
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms > YEAR_MS) throw new InvalidArgumentError('must be such as 24h, 90m or 0s, at most 8760h');
  return ms;
}

function address(text: string): PeerAddress {
  const parsed = parsePeerAddress(text);
  if (!parsed) throw new InvalidArgumentError('must be host:port, such as 10.0.0.7:7071 or [fd00::7]:7071');
  return parsed;
}

function addressText(text: string): string {
  if (address(text).port === 0) throw new InvalidArgumentError('must have the port that other nodes dial');
  return text;
}

function metricsAddress(text: string): string {
  const full = /^\d+$/.test(text) ? `127.0.0.1:${text}` : text;
  address(full);
  return full;
}

function ipAddress(text: string): string {
  if (text !== '' && isIP(text) === 0) throw new InvalidArgumentError('must be an IP address');
  return text;
}
