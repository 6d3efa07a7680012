import { cp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Client } from '../../pkg/client/index.js';
import {
  buildDemoImage,
  type DemoImageOptions,
  DockerdProcess,
  RegistryProcess,
  releaseFolders,
} from '../../dev/processes/index.js';
import { listLoopDevices } from '../../pkg/agent/volumes/mounts.js';
import { Child } from './child.js';
import type { ControlPlane } from './control-plane.js';
import { EngineView } from './engine-view.js';
import { until } from '../../dev/testing/index.js';
import { requestJoinToken, untilNodeReady } from './tenant-client.js';

/** One enrolled machine, as far as one machine can pretend to be several: an agent of its own on a shared engine. */
export interface EnrolledMachine {
  readonly name: string;
  readonly agent: Child;
}

interface StartOptions {
  readonly token: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  /** Default: that of the fleet. */
  readonly server?: string | undefined;
}

/** A container engine, a registry with the demo image, and agents that share them. */
export class Fleet {
  readonly engine: DockerdProcess;
  readonly view: EngineView;
  readonly registry: RegistryProcess;
  readonly #plane: ControlPlane;
  readonly #server: string;
  readonly #machines: EnrolledMachine[] = [];

  private constructor(plane: ControlPlane, server: string, engine: DockerdProcess, registry: RegistryProcess) {
    this.#plane = plane;
    this.#server = server;
    this.engine = engine;
    this.view = new EngineView(engine.host);
    this.registry = registry;
  }

  /** Its agents speak to `server`, where that is not the API server itself. */
  static async start(plane: ControlPlane, server = plane.server): Promise<Fleet> {
    const engine = await DockerdProcess.start({ folder: join(plane.folder, 'engine') });
    try {
      const folder = join(plane.folder, 'registry');
      return new Fleet(plane, server, engine, await RegistryProcess.start({ folder, port: plane.registryPort }));
    } catch (thrown) {
      await engine.destroy();
      throw thrown;
    }
  }

  /** Builds the demo image under this tag and answers its reference. */
  image(tag: string, options: Pick<DemoImageOptions, 'isBroken'> = {}): Promise<string> {
    return buildDemoImage(this.registry.address, { ...options, tag });
  }

  /** Enrols a machine of the tenant whose administrator `client` is, and waits until it is ready. */
  async enrol(
    client: Client,
    name: string,
    labels: Readonly<Record<string, string>> = {},
    options: { engineHost?: string; flags?: readonly string[]; server?: string } = {},
  ): Promise<EnrolledMachine> {
    const { engineHost = this.engine.host, flags = [], server } = options;
    const token = await requestJoinToken(client);
    const machine = this.#start(name, name, engineHost, { token, labels, flags, server });
    await untilNodeReady(client, name);
    return machine;
  }

  /** Starts an agent on a copy of a machine's state folder, and on an engine of its own. */
  async copy({ name }: EnrolledMachine, engineHost: string): Promise<EnrolledMachine> {
    await cp(this.folder(name), this.folder(`${name}-copy`), { recursive: true });
    return this.#start(name, `${name}-copy`, engineHost, { token: '', labels: {}, flags: [] });
  }

  /** Starts a machine whose agent was killed without its state folder, by a join token that is made for its name. */
  async enrolAgain(client: Client, { name }: EnrolledMachine): Promise<EnrolledMachine> {
    await rm(this.folder(name), { recursive: true });
    const token = await requestJoinToken(client, { nodeName: name });
    return this.#start(name, name, this.engine.host, { token, labels: {}, flags: [] });
  }

  /** The state folder of a machine. */
  folder(name: string): string {
    return join(this.#plane.folder, `agent-${name}`);
  }

  /** The moment that the copy of a volume on a machine shows, by the record on its disk; 0 while it shows none. */
  async readSyncedAt(name: string, volumeId: string): Promise<number> {
    const record = await readFile(join(this.folder(name), `replication-${volumeId}.json`), 'utf8');
    const { synced } = JSON.parse(record) as { synced?: { at: string } };
    return synced ? Date.parse(synced.at) : 0;
  }

  /** Turns a machine off: its agent and its containers end, and its disk is out of reach until `turnOn`. Answers when they had ended. */
  async turnOff({ name, agent }: EnrolledMachine): Promise<number> {
    await agent.kill('SIGKILL');
    for (const { id, name: container, state } of await this.view.containers()) {
      if (state === 'running' && container.startsWith(`${name}-`)) await this.view.kill(id);
    }
    const endedAt = Date.now();
    const folder = this.folder(name);
    await releaseFolders([folder]);
    // A device that is still there would be written to beside the one that the next agent attaches.
    const isOwn = ({ file }: { file: string }) => file.startsWith(`${folder}/`);
    await until(`the devices of ${name} to be gone`, async () => !(await listLoopDevices()).some(isOwn));
    await rename(folder, `${folder}.off`);
    return endedAt;
  }

  async turnOn({ name, agent }: EnrolledMachine): Promise<void> {
    await rename(`${this.folder(name)}.off`, this.folder(name));
    agent.start();
  }

  #start(
    name: string,
    folder: string,
    engineHost: string,
    { token, labels, flags, server = this.#server }: StartOptions,
  ): EnrolledMachine {
    const argv = [
      `--server=${server}`,
      '--plain-http',
      `--name=${name}`,
      `--state-dir=${this.folder(folder)}`,
      `--docker-host=${engineHost}`,
      `--name-prefix=${name}-`,
      ...flags,
      ...Object.entries(labels).map(([key, value]) => `--labels=${key}=${value}`),
    ];
    const agent = new Child('agent', {
      argv,
      environment: { MOORING_JOIN_TOKEN: token },
      logFile: `${this.folder(folder)}.log`,
    });
    agent.start();
    const machine = { name, agent };
    this.#machines.push(machine);
    return machine;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#machines.map(({ agent }) => agent.kill('SIGKILL')));
    await this.registry.kill('SIGKILL');
    await this.engine.destroy();
    await releaseFolders([this.#plane.folder]);
  }
}
