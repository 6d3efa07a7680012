/**
 * The process on a tenant's machine: `moor agent --server <url> --state-dir <folder>`.
 *
 * A join token is needed once; it is read from MOORING_JOIN_TOKEN or from a file, never from the arguments, which
 * anyone on the machine can read. SIGTERM and SIGINT end the agent and leave its containers running.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { mkdir, realpath, statfs } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname, uptime } from 'node:os';
import { join } from 'node:path';

import { Command, InvalidArgumentError, Option } from 'commander';

import { parseMemory, parsePortRange, type PortRange } from '../../crds/grammar/index.js';
import { type Clock, systemClock, systemRandom } from '../clock/index.js';
import { InvalidSettingFault } from '../config/index.js';
import { HttpLink, parseJoinToken } from '../link/index.js';
import type { LogFormat, Logger, LogLevel } from '../log/index.js';
import { RegistryLogins, systemResolver } from '../registry/index.js';
import { runProcess } from '../process/index.js';
import { readProductVersion } from '../version/index.js';
import { Agent } from './agent.js';
import { createDirectoryDisk } from './disk.js';
import { findLocalPorts } from './host-ports.js';
import { DockerEngine, type Engine, SimulatedEngine } from './engine/index.js';
import { readProcessTable } from './process-table.js';
import { loadPrivateKey } from './membership.js';
import { type PeerAddress, parsePeerAddress, TlsPeers } from './replication/index.js';
import { loadServerAuthority } from './trust.js';
import { countRoom, openVolumeDriver, type VolumeDriverChoice } from './volumes/index.js';

const STOP_WITHIN_MS = 3_000;
const USAGE_MS = 15_000;

interface AgentFlags {
  readonly server: string;
  readonly caFile?: string;
  readonly plainHttp: boolean;
  readonly name: string;
  readonly stateDir: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly joinTokenFile?: string;
  readonly engine: 'docker' | 'simulated';
  readonly dockerHost: string;
  readonly namePrefix: string;
  readonly controlPlane: boolean;
  readonly stopGraceSeconds: number;
  readonly reservedHostPorts: readonly PortRange[];
  readonly hostPortAddress: string;
  readonly containerDiskLimit?: number;
  readonly registryLoginsFile: string;
  readonly volumeDriver: VolumeDriverChoice;
  readonly volumeReserve: number;
  readonly volumeListen?: PeerAddress;
  readonly volumeAddress?: string;
  readonly volumeBandwidth?: number;
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

function readFlags(argv: readonly string[], environment: NodeJS.ProcessEnv): AgentFlags {
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
      new Option('--engine <engine>', 'what runs containers').choices(['docker', 'simulated']).default('docker'),
    )
    .option(
      '--docker-host <address>',
      'where the engine listens',
      environment['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock',
    )
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
    .option(
      '--volume-listen <host:port>',
      'where copies of volumes are received; without it the node takes none',
      address,
    )
    .option('--volume-address <host:port>', 'where other nodes reach that; default: where it listens', addressText)
    .option('--volume-bandwidth <amount>', 'what is sent of volumes in a second, as 50Mi; default: no limit', bytes)
    .addOption(new Option('--log-level <level>').choices(['error', 'warn', 'info', 'debug']).default('info'))
    .addOption(new Option('--log-format <format>').choices(['json', 'pretty']).default('json'));
  return command.parse(argv, { from: 'user' }).opts<AgentFlags>();
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

function address(text: string): PeerAddress {
  const parsed = parsePeerAddress(text);
  if (!parsed) throw new InvalidArgumentError('must be host:port, such as 10.0.0.7:7071 or [fd00::7]:7071');
  return parsed;
}

function addressText(text: string): string {
  if (address(text).port === 0) throw new InvalidArgumentError('must have the port that other nodes dial');
  return text;
}

function ipAddress(text: string): string {
  if (text !== '' && isIP(text) === 0) throw new InvalidArgumentError('must be an IP address');
  return text;
}

function openEngine({ engine, dockerHost, hostPortAddress, registryLoginsFile }: AgentFlags): Engine {
  if (engine === 'simulated') return new SimulatedEngine({ clock: systemClock, random: systemRandom });
  const logins = new RegistryLogins(registryLoginsFile);
  return new DockerEngine({ host: dockerHost, hostPortAddress, logins, clock: systemClock });
}

/** Nothing is changed yet: another agent may have the node. Volumes are mounted again before a container that uses one is started. */
async function openVolumes({ stateDir, volumeDriver, volumeReserve }: AgentFlags, clock: Clock, log: Logger) {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  // The engine mounts no relative path, and the kernel names mounts by the path without links.
  const root = join(await realpath(stateDir), 'volumes');
  const driver = await openVolumeDriver(volumeDriver, { clock, root, reserveBytes: volumeReserve });
  log.info('volumes are kept', { driver: driver.name });
  const { bavail, bsize } = await statfs(stateDir);
  const disk = { freeBytes: bavail * bsize, reserveBytes: volumeReserve };
  return { volumes: driver, diskBytes: countRoom(disk, driver.describe(), await driver.list()) };
}

/** The join token may carry the fingerprint of the server’s authority: `mjn_…@sha256:…`. */
function readJoinToken({ joinTokenFile }: AgentFlags, environment: NodeJS.ProcessEnv) {
  const text = joinTokenFile ? readFileSync(joinTokenFile, 'utf8').trim() : environment['MOORING_JOIN_TOKEN'];
  return text ? parseJoinToken(text) : undefined;
}

await runProcess('agent', readFlags, async (flags, { clock, random, log: processLog }, signal) => {
  const { name, labels, namePrefix, controlPlane, stopGraceSeconds, stateDir } = flags;
  const log = processLog.with({ node: name });
  if (!flags.server.startsWith('https:') && !flags.plainHttp) {
    throw new InvalidSettingFault(
      '--server: must begin with https://, since an agent sends its token to no server that it cannot authenticate',
    );
  }
  const joining = readJoinToken(flags, process.env);
  const disk = createDirectoryDisk(stateDir);
  const ca = flags.caFile
    ? readFileSync(flags.caFile, 'utf8')
    : await loadServerAuthority({ clock, random, log, disk }, flags.server, joining?.pin, signal);
  if (signal.aborted) return;
  const engine = openEngine(flags);
  const link = new HttpLink({ server: flags.server, ...(ca !== undefined && { ca }) });
  const resolver = flags.engine === 'docker' ? { resolve: systemResolver } : {};
  const { volumes, diskBytes } = await openVolumes(flags, clock, log);
  const { volumeListen: listen, volumeAddress: address, volumeBandwidth: bandwidth } = flags;
  const peers = await TlsPeers.open({ key: await loadPrivateKey(disk, random), clock, listen, address, bandwidth });
  if (peers.address !== undefined) log.info('copies of volumes are received', { address: peers.address });
  const uptimeMs = () => uptime() * 1000;
  const env = {
    clock,
    random,
    log,
    engine,
    link,
    disk,
    volumes,
    peers,
    processes: readProcessTable(),
    uptimeMs,
    ...resolver,
  };
  // A container on the port of the control plane or of the engine would be taken for it.
  const reservedHostPorts = [...flags.reservedHostPorts, ...findLocalPorts([flags.server, flags.dockerHost])];
  const described = { name, labels, namePrefix, controlPlane, stopGraceSeconds, reservedHostPorts };
  const options = {
    ...described,
    version: readProductVersion(),
    diskBytes,
    usageMs: USAGE_MS,
    ...(flags.containerDiskLimit !== undefined && { containerDiskBytes: flags.containerDiskLimit }),
    ...(joining && { joinToken: joining.token }),
  };
  // Every step can be resumed by the next agent, so the stop does not wait for a slow one.
  signal.addEventListener('abort', () => clock.after(STOP_WITHIN_MS, () => void engine.close()), { once: true });
  log.info('agent started', { address: flags.server });
  await new Agent(env, options).run(signal);
  await Promise.all([engine.close(), peers.close()]);
  log.info('agent stopped');
});
