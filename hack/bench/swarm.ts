import { setTimeout as pause } from 'node:timers/promises';

import { findFreePort } from '../../dev/processes/index.js';
import { timeToRunning } from '../../e2e/lab/apply-time.js';
import { DockerApi } from '../../pkg/agent/engine/docker/docker-api.js';
import { withMachine } from './containers.js';
import type { BenchResult } from './report.js';
import { interleave, median, ratio } from './rounds.js';

const LOOK_MS = 5;
const MANY = 20;

/** W27: from the request to running containers, against Swarm on the same engine, in turns. */
export function compareWithSwarm(rounds: number): Promise<BenchResult[]> {
  return withMachine({}, async ({ fleet, shop, image, next }) => {
    const swarm = await Swarm.start(fleet.engine.host);
    try {
      await swarm.timeToRunning(next(), { image, replicas: 1 }); // as ours had one before
      const measure = (replicas: number) => ({
        ours: () => timeToRunning(shop, next(), { image, replicas }),
        swarm: () => swarm.timeToRunning(next(), { image, replicas }),
      });
      const one = await interleave(rounds * 4, measure(1));
      const many = await interleave(rounds, measure(MANY));
      // Of many at once, the engine itself takes nearly all of the time on either side.
      const toResult = (workload: string, what: string, cells: typeof one): BenchResult => ({
        workload,
        what,
        ratio: ratio(cells.ours, cells.swarm),
        floor: cells === one ? 1 : 1.5,
        target: cells === one ? 0.5 : 1,
        larger: false,
        figures: `${median(cells.ours).toFixed(0)} ms against ${median(cells.swarm).toFixed(0)} ms`,
      });
      return [
        toResult('W27', 'apply until one replica is seen running, over a service of Swarm on the same engine', one),
        toResult('W27b', `the same with ${MANY} replicas`, many),
      ];
    } finally {
      await swarm.stop();
    }
  });
}

/** Swarm, as it is built into the engine that the other cells of a workload use: one manager, which is also the worker. */
class Swarm {
  readonly #api: DockerApi;

  private constructor(api: DockerApi) {
    this.#api = api;
  }

  static async start(host: string): Promise<Swarm> {
    const api = new DockerApi(host);
    const [listen, data] = [await findFreePort(), await findFreePort()];
    const body = { ListenAddr: `127.0.0.1:${listen}`, AdvertiseAddr: `127.0.0.1:${listen}`, DataPathPort: data };
    await api.call('POST', '/swarm/init', { body });
    // The kind of network that containers have in the other cells: a bridge of the machine.
    await api.call('POST', '/networks/create', { body: { Name: 'beside', Driver: 'bridge', Scope: 'swarm' } });
    return new Swarm(api);
  }

  /** Milliseconds from the creation of a service until every one of its tasks is running. */
  async timeToRunning(name: string, { image, replicas }: { image: string; replicas: number }): Promise<number> {
    const TaskTemplate = { ContainerSpec: { Image: image }, Networks: [{ Target: 'beside' }] };
    const body = { Name: name, TaskTemplate, Mode: { Replicated: { Replicas: replicas } } };
    const begun = performance.now();
    await this.#api.call('POST', '/services/create', { body });
    while ((await this.#countTasks(name, 'running')) < replicas) await pause(LOOK_MS);
    const took = performance.now() - begun;
    await this.#api.call('DELETE', `/services/${name}`);
    while ((await this.#countContainers(name)) > 0) await pause(LOOK_MS);
    return took;
  }

  async #countTasks(service: string, state: string): Promise<number> {
    const query = { filters: JSON.stringify({ service: [service] }) };
    const { body } = await this.#api.call<readonly { Status: { State: string } }[]>('GET', '/tasks', { query });
    return body.filter(({ Status }) => Status.State === state).length;
  }

  async #countContainers(service: string): Promise<number> {
    const filters = JSON.stringify({ label: [`com.docker.swarm.service.name=${service}`] });
    const query = { all: 'true', filters };
    return (await this.#api.call<readonly unknown[]>('GET', '/containers/json', { query })).body.length;
  }

  async stop(): Promise<void> {
    await this.#api.call('POST', '/swarm/leave', { query: { force: 'true' } });
    await this.#api.close();
  }
}
