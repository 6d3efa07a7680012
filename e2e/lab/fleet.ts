import { join } from 'node:path';

import type { Client } from '../../pkg/client/index.js';
import { DockerdProcess, buildDemoImage, RegistryProcess } from '../../dev/processes/index.js';
import { Child } from './child.js';
import type { ControlPlane } from './control-plane.js';
import { EngineView } from './engine-view.js';
import { until } from '../../dev/testing/index.js';
import { unwrap } from './tenant-client.js';

/** One enrolled machine, as far as one machine can pretend to be several: an agent of its own on a shared engine. */
export interface EnrolledMachine {
  readonly name: string;
  readonly agent: Child;
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
    const registry = await RegistryProcess.start({ folder: join(plane.folder, 'registry'), port: plane.registryPort });
    return new Fleet(plane, server, engine, registry);
  }

  /** Builds the demo image under this tag and answers its reference. */
  image(tag: string): Promise<string> {
    return buildDemoImage(this.registry.address, { tag });
  }

  /** Enrols a machine of the tenant whose administrator `client` is, and waits until it is ready. */
  async enrol(client: Client, name: string, labels: Readonly<Record<string, string>> = {}): Promise<EnrolledMachine> {
    const join_ = unwrap(await client.request<{ token: string }>('POST', '/api/v1/nodes/join-tokens', { body: {} }));
    const argv = [
      `--server=${this.#server}`,
      '--plain-http',
      `--name=${name}`,
      `--state-dir=${join(this.#plane.folder, `agent-${name}`)}`,
      `--docker-host=${this.engine.host}`,
      `--name-prefix=${name}-`,
      ...Object.entries(labels).map(([key, value]) => `--labels=${key}=${value}`),
    ];
    const agent = new Child('agent', {
      argv,
      environment: { MOORING_JOIN_TOKEN: join_.token },
      logFile: join(this.#plane.folder, `agent-${name}.log`),
    });
    agent.start();
    const machine = { name, agent };
    this.#machines.push(machine);
    await until(`node ${name} to be ready`, async () => {
      const node = await client.request<{ status: string }>('GET', `/api/v1/nodes/${name}`);
      return node.ok && node.value.status === 'ready';
    });
    return machine;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#machines.map(({ agent }) => agent.kill('SIGKILL')));
    await this.registry.kill('SIGKILL');
    await this.engine.destroy();
  }
}
