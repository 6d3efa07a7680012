import { expect } from 'chai';

import { TcpProxy } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient } from '../lab/tenant-client.js';

/** The layer of the image has a mebibyte. An engine goes on where it was, five times in all: then it has less than half of it. */
const BREAKS_AFTER_BYTES = 64 << 10;

describe('an image whose pull breaks off half way', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let network: TcpProxy;

  before(async () => {
    network = await TcpProxy.start(() => ({ host: '127.0.0.1', port: plane.registryPort }));
    plane = await ControlPlane.start({ MOORING_REGISTRY_INSECURE: `127.0.0.1:${network.port}` });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    await fleet.enrol(shop.client, 'shop-1');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
    await network?.stop();
  });

  it('is told as the reason, makes no container, and is pulled once the network carries it', async () => {
    const pushed = await fleet.image('1');
    const image = pushed.replace(fleet.registry.address, `127.0.0.1:${network.port}`);
    const carried = new Map<number, number>();
    let broken = 0;
    network.onServerData = (data, connection) => {
      const bytes = (carried.get(connection) ?? 0) + data.length;
      carried.set(connection, bytes);
      if (bytes < BREAKS_AFTER_BYTES) return true;
      broken++;
      network.cut();
      return false;
    };
    await shop.apply({ name: 'web', image });
    const replica = async () => (await shop.show('web')).status?.placements[0];
    const { pull } = (await until('bytes to be told', async () => {
      const seen = await replica();
      return broken > 1 && seen?.pull ? seen : undefined;
    }))!;
    expect(pull!.receivedBytes).to.be.lessThan(pull!.totalBytes / 2);
    const failed = await until(
      'the failed pull to be told',
      async () => {
        const seen = await replica();
        return seen?.reason === 'image_pull_failed' ? seen : undefined;
      },
      240_000,
    );
    expect(failed.message).to.match(/the registry could not be reached: check its name/);
    expect(await fleet.view.containers()).to.deep.equal([]);

    network.onServerData = undefined;
    await shop.reaches('web', 'Running');
    expect(await fleet.view.running('web')).to.have.length(1);
  });
});
