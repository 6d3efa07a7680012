import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import { type DockerdProcess, findFreePort, TcpProxy } from '../../dev/processes/index.js';
import type { Client } from '../../pkg/client/index.js';
import { EngineView } from './engine-view.js';
import type { EnrolledMachine, Fleet } from './fleet.js';

interface FaultyMachineOptions {
  readonly fleet: Fleet;
  readonly client: Client;
  readonly engine: DockerdProcess;
  readonly name: string;
  /** The API server. */
  readonly server: string;
  readonly flags: readonly string[];
}

/** A machine with an engine, a disk and a network of its own, each of which can fail and be as before. */
export class FaultyMachine {
  readonly name: string;
  readonly view: EngineView;
  readonly #agent: EnrolledMachine['agent'];
  readonly #folder: string;
  readonly #engine: DockerdProcess;
  readonly #toServer: TcpProxy;
  readonly #toCopies: TcpProxy;
  #cut: readonly TcpProxy[] = [];
  #frozen: readonly number[] = [];

  private constructor(
    { name, agent }: EnrolledMachine,
    { fleet, engine }: FaultyMachineOptions,
    [toServer, toCopies]: readonly [TcpProxy, TcpProxy],
  ) {
    this.name = name;
    this.view = new EngineView(engine.host);
    this.#agent = agent;
    this.#folder = fleet.folder(name);
    this.#engine = engine;
    this.#toServer = toServer;
    this.#toCopies = toCopies;
  }

  static async start(options: FaultyMachineOptions): Promise<FaultyMachine> {
    const { fleet, client, engine, name, server, flags } = options;
    const port = await findFreePort();
    const ways = [await TcpProxy.start(Number(new URL(server).port)), await TcpProxy.start(port)] as const;
    const [toServer, toCopies] = ways;
    const copies = [`--volume-listen=127.0.0.1:${port}`, `--volume-address=127.0.0.1:${toCopies.port}`];
    const enrolled = await fleet.enrol(
      client,
      name,
      {},
      {
        engineHost: engine.host,
        server: toServer.endpoint,
        flags: [...flags, ...copies],
      },
    );
    return new FaultyMachine(enrolled, options, ways);
  }

  /** Its agent ends by order. */
  stopAgent(): Promise<void> {
    return this.#agent.kill('SIGTERM');
  }

  killAgent(): Promise<void> {
    return this.#agent.kill('SIGKILL');
  }

  startAgent(): void {
    this.#agent.start();
  }

  pauseAgent(): void {
    this.#agent.pause();
  }

  resumeAgent(): void {
    this.#agent.resume();
  }

  /** Its engine does not answer, and what runs on it goes on. */
  hangEngine(): void {
    process.kill(this.#engine.pid!, 'SIGSTOP');
  }

  resumeEngine(): void {
    process.kill(this.#engine.pid!, 'SIGCONT');
  }

  /** No packet comes or goes, to the server or between it and the other machine, and nobody is told. */
  cutNetwork(other: FaultyMachine): void {
    this.#cut = [this.#toServer, this.#toCopies, other.#toCopies];
    for (const way of this.#cut) way.mode = 'blackhole';
  }

  /** Connections that were open meanwhile stay silent for good. */
  healNetwork(): void {
    for (const way of this.#cut) {
      way.forget();
      way.mode = 'pass';
    }
  }

  /** Nothing can be made in its state folder, as on a disk that the kernel has made read-only; volumes below it are written to as before. */
  protectStateFolder(): void {
    execFileSync('chattr', ['+i', this.#folder]);
  }

  releaseStateFolder(): void {
    execFileSync('chattr', ['-i', this.#folder]);
  }

  /** Everything on it stands still at once: agent, fencer, engine and containers. */
  async freeze(): Promise<void> {
    const containers = await this.view.containers();
    this.#frozen = await this.#listProcesses(containers.map(({ id }) => id));
    for (const pid of this.#frozen) process.kill(pid, 'SIGSTOP');
  }

  /** Everything goes on at once, what writes first. What has gone on may have ended the rest already. */
  thaw(): void {
    for (const pid of this.#frozen.toReversed()) {
      try {
        process.kill(pid, 'SIGCONT');
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
      }
    }
    this.#frozen = [];
  }

  /** Its fencer ends, as nothing ends it but root. */
  async killFencer(): Promise<void> {
    for (const pid of await this.#listProcesses([])) {
      if ((await readCommand(pid)).includes('fencer')) process.kill(pid, 'SIGKILL');
    }
  }

  /** What writes on it ends without a word, as when its power is cut. */
  async killContainers(deployment: string): Promise<void> {
    for (const { id } of await this.view.running(deployment)) await this.view.kill(id);
  }

  async #listProcesses(containers: readonly string[]): Promise<readonly number[]> {
    const places = [this.#folder, dirname(this.#engine.host.replace('unix://', ''))];
    const pids = (await readdir('/proc')).map(Number).filter(pid => pid > 0 && pid !== process.pid);
    const isOwn = async (pid: number) => {
      const command = await readCommand(pid);
      const group = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
      return places.some(place => command.includes(place)) || containers.some(id => group.includes(id));
    };
    const own = await Promise.all(pids.map(isOwn));
    return pids.filter((_, index) => own[index]);
  }

  /** Lets everything be ended and removed, also in the middle of a fault. */
  async stop(): Promise<void> {
    this.releaseStateFolder();
    this.resumeEngine();
    this.thaw();
    await Promise.all([this.#toServer, this.#toCopies].map(way => way.stop()));
  }
}

function readCommand(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}
