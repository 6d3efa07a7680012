import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

/** The nodes of this machine publish the same host port at addresses of their own. */
const ADDRESSES: Readonly<Record<string, string>> = { one: '127.0.0.2', two: '127.0.0.3', three: '127.0.0.4' };

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
      this.#ready = ready.map(({ nodeName }) => ADDRESSES[nodeName ?? '']!);
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

describe('a rollout, on a real engine', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let port: number;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    port = await findFreePort();
    await Promise.all(
      Object.entries(ADDRESSES).map(([name, address]) =>
        fleet.enrol(shop.client, name, {}, { flags: [`--host-port-address=${address}`] }),
      ),
    );
    await shop.apply({
      name: 'web',
      image: await fleet.image('1'),
      replicas: 2,
      ports: [{ containerPort: 8080, hostPort: port }],
      healthCheck: { type: 'exec', command: ['wget -q -O /dev/null http://127.0.0.1:8080/'], interval: '1s' },
      rollout: { progressDeadline: '10s' },
      // A load balancer needs a moment to hear that a replica leaves.
      preStop: ['sleep', '5'],
      stopGracePeriod: '20s',
    });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  /** Runs a rollout to its end under traffic: no request may fail, and most of the time there must have been some. */
  const underTraffic = async (roll: () => Promise<void>): Promise<void> => {
    const traffic = new Traffic(shop, port);
    await until('the first answers', async () => traffic.answered > 10);
    await roll();
    const before = traffic.answered;
    await until('answers after the rollout', async () => traffic.answered > before + 10);
    await traffic.end();
    expect(traffic.failures).to.deep.equal([]);
  };
  const images = async () => (await fleet.view.running('web')).map(({ image }) => image);
  const events = async (type: string) =>
    unwrap(await shop.client.all<StoredEvent>('/api/v1/events', { query: { type } })).items;

  it('loses no request when the new image is good', async () => {
    const second = await fleet.image('2');
    await underTraffic(async () => {
      await shop.change('web', { image: second });
      await until('only new containers', async () => {
        const running = await images();
        return running.length === 2 && running.every(image => image === second);
      });
      await shop.reaches('web', 'Running');
    });
  });

  it('goes back by itself, without losing a request, when the health check of the new one fails', async () => {
    const before = await shop.show('web');
    const failing = { type: 'exec', command: ['echo no page; false'], interval: '1s' };
    await underTraffic(async () => {
      await shop.change('web', { healthCheck: failing });
      await until('the rollback', async () => (await shop.show('web')).metadata.generation === 4);
      await shop.reaches('web', 'Running');
    });

    const after = await shop.show('web');
    expect(after.healthCheck).to.deep.equal(before.healthCheck);
    expect(after.metadata.specHash).to.equal(before.metadata.specHash);
    expect(after.status?.rollout?.failure).to.deep.include({ revision: 3, rolledBackTo: 2 });
    expect(after.status?.rollout?.failure?.output).to.include('no page');
    expect(await events('deployment.rollout_failed')).to.have.length(1);
    expect(await events('deployment.rolled_back')).to.have.length(1);
    const { revisions } = unwrap(
      await shop.client.request<{ revisions: ArchivedRevision[] }>('GET', '/api/v1/archives/deployments/web'),
    );
    expect(revisions.map(({ change }) => change)).to.deep.equal(['create', 'update', 'update', 'rollback']);
  });
});
