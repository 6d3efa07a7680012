/**
 * The process on a tenant's machine: `moor agent --server <url> --state-dir <folder>`.
 *
 * A join token is needed once; it is read from MOORING_JOIN_TOKEN or from a file, never from the arguments, which
 * anyone on the machine can read. SIGTERM and SIGINT end the agent and leave its containers running.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';

import { type Clock, systemClock, systemRandom } from '../clock/index.js';
import { InvalidSettingFault } from '../config/index.js';
import { HttpLink, parseJoinToken } from '../link/index.js';
import type { Logger } from '../log/index.js';
import { RegistryLogins, systemResolver } from '../registry/index.js';
import { createMetrics } from '../metrics/index.js';
import { listenForMetrics, type ProcessEnv, runProcess } from '../process/index.js';
import { openTracer } from '../trace/index.js';
import { readProductVersion } from '../version/index.js';
import { Agent } from './agent.js';
import { createDirectoryDisk } from './disk.js';
import { FencerLink, locateFencer, startFencer } from './fencer/index.js';
import { findLocalPorts } from './containers/host-ports.js';
import { DockerEngine, type Engine, KubernetesEngine, SimulatedEngine } from './engine/index.js';
import { type AgentFlags, readFlags } from './flags.js';
import { meterEngine, meterLink } from './metered.js';
import { readProcessTable } from './process-table.js';
import { loadPrivateKey } from './membership/membership.js';
import { notifySystemd } from './notify-systemd.js';
import { TlsPeers } from './replication/index.js';
import { loadServerAuthority } from './membership/trust.js';
import { BoundFolders, findBadRoot, measureRoom, openVolumeDriver, VolumeRoom } from './volumes/index.js';

const STOP_WITHIN_MS = 3_000;
const USAGE_MS = 15_000;

function openEngine(flags: AgentFlags, environment: NodeJS.ProcessEnv, log: Logger): Engine {
  const { engine, dockerHost, hostPortAddress, registryLoginsFile } = flags;
  if (engine === 'simulated') return new SimulatedEngine({ clock: systemClock, random: systemRandom });
  if (engine === 'kubernetes') return openCluster(flags, environment, log);
  const logins = new RegistryLogins(registryLoginsFile);
  return new DockerEngine({ host: dockerHost, hostPortAddress, logins, clock: systemClock });
}

function openCluster(flags: AgentFlags, environment: NodeJS.ProcessEnv, log: Logger): Engine {
  const { kubeconfig, namespace, capacity, containerDiskLimit: diskBytes, stopGraceSeconds: graceSeconds } = flags;
  if (kubeconfig === undefined && !environment['KUBERNETES_SERVICE_HOST']) {
    throw new InvalidSettingFault('--kubeconfig: must be given, since the agent does not run in a Pod of a cluster');
  }
  return new KubernetesEngine({ kubeconfig, namespace, capacity, diskBytes, graceSeconds, log });
}

/** Nothing is changed yet: another agent may have the node. Volumes are mounted again before a container that uses one is started. */
async function openVolumes(flags: AgentFlags, clock: Clock, log: Logger) {
  const { stateDir, volumeDriver, volumeReserve, volumeKeepRemoved: keepRemovedMs, bindRoot } = flags;
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  if (flags.engine === 'kubernetes') return {};
  // The engine mounts no relative path, and the kernel names mounts by the path without links.
  const state = await realpath(stateDir);
  const root = join(state, 'volumes');
  const kept = { root, reserveBytes: volumeReserve, state: createDirectoryDisk(state) };
  const driver = await openVolumeDriver(volumeDriver, { clock, keepRemovedMs, ...kept });
  await driver.removed.see();
  log.info('volumes are kept', { driver: driver.name });
  // A root that holds the agent's own files would give a tenant the key of the node.
  const bad = await findBadRoot(bindRoot, state);
  if (bad) throw new InvalidSettingFault(`--bind-root ${bad.root}: ${bad.why}`);
  const binds = new BoundFolders({ roots: bindRoot, stateDir: state, isRoot: process.getuid?.() === 0 });
  const measure = (usedBytes?: number) => measureRoom({ driver, stateDir: state, ...kept }, usedBytes);
  // Only root may kill what runs in containers.
  const fencer = process.getuid?.() === 0 ? openFencer(state, clock) : undefined;
  return { volumes: driver, binds, room: await VolumeRoom.open(clock, { driver, ...kept }, measure), fencer };
}

/** Started with the first volume that may be promoted elsewhere. */
function openFencer(state: string, clock: Clock): FencerLink {
  return new FencerLink({ clock, socket: locateFencer(state).socket, start: () => startFencer(state) });
}

/** The join token may carry the fingerprint of the server’s authority: `mjn_…@sha256:…`. */
function readJoinToken({ joinTokenFile }: AgentFlags, environment: NodeJS.ProcessEnv) {
  const text = joinTokenFile ? readFileSync(joinTokenFile, 'utf8').trim() : environment['MOORING_JOIN_TOKEN'];
  return text ? parseJoinToken(text) : undefined;
}

async function run(
  flags: AgentFlags,
  { clock, random, log: processLog }: ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
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
  // Those of the process are measured a hundred times a second: not where they cannot be read.
  const metrics = createMetrics({ agent: true, processMetrics: flags.metricsListen !== undefined });
  // Whether a trace is recorded was decided by the server that began it.
  const traces = { traceEndpoint: flags.traceEndpoint, traceRatio: 1 };
  const tracer = await openTracer('mooring-agent', traces, { clock, random, log, metrics });
  const engine = meterEngine(openEngine(flags, process.env, log), { clock, metrics });
  const link = meterLink(new HttpLink({ server: flags.server, ...(ca !== undefined && { ca }) }), { clock, metrics });
  const resolver = flags.engine === 'simulated' ? {} : { resolve: systemResolver };
  const { volumes, binds, room, fencer } = await openVolumes(flags, clock, log);
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
    room,
    binds,
    fencer,
    peers,
    processes: readProcessTable(),
    uptimeMs,
    tracer,
    ...resolver,
  };
  // A container on the port of the control plane or of the engine would be taken for it.
  const reservedHostPorts = [...flags.reservedHostPorts, ...findLocalPorts([flags.server, flags.dockerHost])];
  const described = { name, labels, namePrefix, controlPlane, stopGraceSeconds, reservedHostPorts };
  const options = {
    ...described,
    version: readProductVersion(),
    diskBytes: room?.bytes ?? 0,
    usageMs: USAGE_MS,
    ...(flags.containerDiskLimit !== undefined && { containerDiskBytes: flags.containerDiskLimit }),
    ...(joining && { joinToken: joining.token }),
  };
  // Every step can be resumed by the next agent, so the stop does not wait for a slow one.
  signal.addEventListener('abort', () => clock.after(STOP_WITHIN_MS, () => void engine.close()), { once: true });
  const listener = flags.metricsListen ? await listenForMetrics(flags.metricsListen, metrics) : undefined;
  log.info('agent started', { address: flags.server });
  notifySystemd(process.env, clock, signal);
  await new Agent(env, options).run(signal);
  listener?.close();
  await Promise.all([engine.close(), peers.close(), tracer?.close()]);
  log.info('agent stopped');
}

const [first, ...words] = process.argv.slice(2);
if (first === 'volumes') await (await import('./node-volumes/removed-command.js')).runRemovedCommand(words);
else await runProcess('agent', readFlags, run);
