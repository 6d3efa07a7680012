import type { StoredEvent } from '../../crds/event/index.js';
import { findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from './control-plane.js';
import { type EnrolledMachine, Fleet } from './fleet.js';
import { TenantClient, unwrap } from './tenant-client.js';
import { type OfferedReplica, withTraffic } from './traffic.js';

const PATIENCE_MS = 180_000;
const REPLICAS = 2;

/** The nodes of this machine publish the same host port at addresses of their own. */
const ADDRESSES: Readonly<Record<string, string>> = { one: '127.0.0.2', two: '127.0.0.3', three: '127.0.0.4' };

/** How a replica leaves: a load balancer needs a moment to hear of it. */
export const BRIEFLY = { preStop: ['sleep', '5'], stopGracePeriod: '20s' };
/** Long enough for controllers to die twice before they have told: the next ones wait for the lease of those, and start. */
export const SLOWLY = { preStop: ['sleep', '20'], stopGracePeriod: '40s' };

interface RolloutLabOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly leaving?: typeof BRIEFLY;
}

/** A deployment `web` of two replicas behind published ports, on three nodes of a real engine: for stories of rollouts. */
export class RolloutLab {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
  readonly shop: TenantClient;
  readonly machines: readonly EnrolledMachine[];
  readonly #port: number;

  private constructor(
    plane: ControlPlane,
    fleet: Fleet,
    shop: TenantClient,
    { machines, port }: { readonly machines: readonly EnrolledMachine[]; readonly port: number },
  ) {
    this.plane = plane;
    this.fleet = fleet;
    this.shop = shop;
    this.machines = machines;
    this.#port = port;
  }

  /** Resolves when the first revision runs. Where controllers die, its replicas must not leave before the next ones tell. */
  static async start(
    rollout: Readonly<Record<string, unknown>>,
    { environment = {}, leaving = BRIEFLY }: RolloutLabOptions = {},
  ): Promise<RolloutLab> {
    const plane = await ControlPlane.start(environment);
    let fleet: Fleet | undefined;
    try {
      fleet = await Fleet.start(plane);
      const shop = await TenantClient.open(plane, 'shop');
      const port = await findFreePort();
      const machines = await Promise.all(
        Object.entries(ADDRESSES).map(([name, address]) =>
          fleet!.enrol(shop.client, name, {}, { flags: [`--host-port-address=${address}`] }),
        ),
      );
      await shop.apply({
        name: 'web',
        image: await fleet.image('1'),
        replicas: REPLICAS,
        ports: [{ containerPort: 8080, hostPort: port }],
        healthCheck: {
          type: 'exec',
          command: ['wget -q -O /dev/null http://127.0.0.1:8080/'],
          interval: '2s', // each look starts a program in a container, which costs more than what it looks at
          timeout: '20s',
        },
        rollout,
        ...leaving,
      });
      await shop.reaches('web', 'Running');
      return new RolloutLab(plane, fleet, shop, { machines, port });
    } catch (thrown) {
      await fleet?.stop();
      await plane.stop(); // or its processes would outlive the test
      throw thrown;
    }
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    await this.plane.stop();
  }

  /** Throws when a request was lost meanwhile, or when fewer replicas served than the bounds of its rollout allow. */
  underTraffic(roll: () => Promise<void>): Promise<void> {
    return withTraffic({ list: () => this.#listReady(), atLeast: REPLICAS }, roll);
  }

  async #listReady(): Promise<readonly OfferedReplica[]> {
    const { status } = await this.shop.show('web');
    const ready = status?.placements.filter(({ state, health }) => state === 'running' && health === 'healthy') ?? [];
    return ready.map(({ containerId, nodeName }) => ({
      id: String(containerId),
      url: `http://${ADDRESSES[nodeName ?? '']}:${this.#port}/`,
    }));
  }

  /** The machines that replicas are on, once nothing else is on any, and those that have none. */
  async split(): Promise<{ readonly taken: readonly EnrolledMachine[]; readonly free: readonly EnrolledMachine[] }> {
    const placements = await until('nothing to be stopping', async () => {
      const { status } = await this.shop.show('web');
      return status?.placements.length === REPLICAS && status.placements;
    });
    const isTaken = ({ name }: EnrolledMachine) => placements.some(({ nodeName }) => nodeName === name);
    return { taken: this.machines.filter(isTaken), free: this.machines.filter(each => !isTaken(each)) };
  }

  async images(): Promise<readonly string[]> {
    return (await this.fleet.view.running('web')).map(({ image }) => image).sort();
  }

  /** Waits for containers of exactly these images. Where they do not come, the failure says what there was instead. */
  async runs(...wanted: readonly string[]): Promise<void> {
    const isSo = async () => {
      const images = await this.images();
      if (images.join() === wanted.toSorted().join()) return true;
      const { status } = await this.shop.show('web');
      throw new Error(`there are containers of ${images.join(' and ')}, and the status is ${JSON.stringify(status)}`);
    };
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
