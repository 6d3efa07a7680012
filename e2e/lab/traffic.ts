import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import type { TenantClient } from './tenant-client.js';

/** The nodes of this machine publish the same host port at addresses of their own. */
export const TRAFFIC_ADDRESSES: Readonly<Record<string, string>> = {
  one: '127.0.0.2',
  two: '127.0.0.3',
  three: '127.0.0.4',
};

/**
 * A client behind a load balancer: it follows the status, sends its requests in turn to the published ports of the replicas
 * that are ready, 50 a second, and counts those that fail. A status that it could not read lately it does not rely on.
 */
class Traffic {
  readonly #shop: TenantClient;
  readonly #port: number;
  readonly #stopped = new AbortController();
  readonly #running: Promise<unknown>;
  #ready: readonly string[] = [];
  #readAt = 0;
  answered = 0;
  readonly failures: string[] = [];

  constructor(shop: TenantClient, port: number) {
    this.#shop = shop;
    this.#port = port;
    this.#running = Promise.all([this.#follow(), this.#ask()]);
  }

  async end(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #follow(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const begun = Date.now();
      const { status } = await this.#shop.show('web');
      const ready = status?.placements.filter(({ state, health }) => state === 'running' && health === 'healthy') ?? [];
      this.#ready = ready.map(({ nodeName }) => TRAFFIC_ADDRESSES[nodeName ?? '']!);
      this.#readAt = begun;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }

  async #ask(): Promise<void> {
    for (let turn = 0; !this.#stopped.signal.aborted; turn++) {
      const address = this.#ready[turn % this.#ready.length];
      if (address !== undefined && Date.now() - this.#readAt < 1_000) await this.#request(address);
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }

  async #request(address: string): Promise<void> {
    try {
      const answer = await fetch(`http://${address}:${this.#port}/`, { headers: { connection: 'close' } });
      await answer.text();
      if (answer.ok) this.answered++;
      else this.failures.push(`${address}: ${answer.status}`);
    } catch (thrown) {
      this.failures.push(`${address}: ${String((thrown as Error).cause ?? thrown)}`);
    }
  }
}

/** Runs a rollout of `web` to its end under traffic: no request may fail, and most of the time there must have been some. */
export async function withTraffic(shop: TenantClient, port: number, roll: () => Promise<void>): Promise<void> {
  const traffic = new Traffic(shop, port);
  await until('the first answers', async () => traffic.answered > 10);
  await roll();
  const before = traffic.answered;
  await until('answers after the rollout', async () => traffic.answered > before + 10);
  await traffic.end();
  expect(traffic.failures).to.deep.equal([]);
}
