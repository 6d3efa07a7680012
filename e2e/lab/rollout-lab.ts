import type { StoredEvent } from '../../crds/event/index.js';
import { findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from './control-plane.js';
import { Fleet } from './fleet.js';
import { TenantClient, unwrap } from './tenant-client.js';
import { TRAFFIC_ADDRESSES, withTraffic } from './traffic.js';

const PATIENCE_MS = 180_000;

/** A deployment `web` of two replicas behind published ports, on three nodes of a real engine: for stories of rollouts. */
export class RolloutLab {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
  readonly shop: TenantClient;
  readonly #port: number;

  private constructor(plane: ControlPlane, fleet: Fleet, shop: TenantClient, port: number) {
    this.plane = plane;
    this.fleet = fleet;
    this.shop = shop;
    this.#port = port;
  }

  /** Resolves when the first revision runs. */
  static async start(
    rollout: Readonly<Record<string, unknown>>,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<RolloutLab> {
    const plane = await ControlPlane.start(environment);
    const fleet = await Fleet.start(plane);
    const shop = await TenantClient.open(plane, 'shop');
    const port = await findFreePort();
    await Promise.all(
      Object.entries(TRAFFIC_ADDRESSES).map(([name, address]) =>
        fleet.enrol(shop.client, name, {}, { flags: [`--host-port-address=${address}`] }),
      ),
    );
    await shop.apply({
      name: 'web',
      image: await fleet.image('1'),
      replicas: 2,
      ports: [{ containerPort: 8080, hostPort: port }],
      healthCheck: { type: 'exec', command: ['wget -q -O /dev/null http://127.0.0.1:8080/'], interval: '1s' },
      rollout,
      // A load balancer needs a moment to hear that a replica leaves.
      preStop: ['sleep', '5'],
      stopGracePeriod: '20s',
    });
    await shop.reaches('web', 'Running');
    return new RolloutLab(plane, fleet, shop, port);
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    await this.plane.stop();
  }

  /** Throws when a request was lost meanwhile. */
  underTraffic(roll: () => Promise<void>): Promise<void> {
    return withTraffic(this.shop, this.#port, roll);
  }

  async images(): Promise<readonly string[]> {
    return (await this.fleet.view.running('web')).map(({ image }) => image).sort();
  }

  /** Waits for containers of exactly these images. */
  async runs(...wanted: readonly string[]): Promise<void> {
    const isSo = async () => (await this.images()).join() === wanted.toSorted().join();
    await until(`containers of ${wanted.join(' and ')}`, isSo, PATIENCE_MS);
  }

  /** Waits for a revision. */
  async reachesRevision(generation: number): Promise<void> {
    const isSo = async () => (await this.shop.show('web')).metadata.generation === generation;
    await until(`revision ${generation}`, isSo, PATIENCE_MS);
  }

  async holdsCanary(): Promise<void> {
    const isSo = async () => (await this.shop.show('web')).status?.canary?.state === 'holding';
    await until('a healthy canary', isSo, PATIENCE_MS);
  }

  orderCanary(action: 'promote' | 'abort') {
    return this.shop.client.request('POST', '/api/v1/deployments/web/canary', { body: { action } });
  }

  async events(type: string): Promise<readonly StoredEvent[]> {
    const query = { type: `deployment.${type}` };
    return unwrap(await this.shop.client.all<StoredEvent>('/api/v1/events', { query })).items;
  }
}
