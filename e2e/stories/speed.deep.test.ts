import { DockerEngine } from '../../pkg/agent/index.js';
import { timeEngineAlone, timeToRunning } from '../lab/apply-time.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient } from '../lab/tenant-client.js';
import { until } from '../../dev/testing/index.js';

const REPEATS = 5;

const median = (times: readonly number[]) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;

describe('from apply to running', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    await fleet.enrol(shop.client, 'shop-1');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  it('is seen on a tail that was open before, every time', async () => {
    const image = await fleet.image('1');
    const engine = new DockerEngine({ host: fleet.engine.host });
    await timeToRunning(shop, 'warm', { image, replicas: 1 });
    const [alone, whole]: [number[], number[]] = [[], []];
    for (let round = 1; round <= REPEATS; round++) {
      alone.push(await timeEngineAlone(engine, { tenant: shop.id, name: `alone-${round}`, image, count: 1 }));
      whole.push(await timeToRunning(shop, `fast-${round}`, { image, replicas: 1 }));
    }
    await engine.close();

    const added = median(whole) - median(alone);
    console.log(
      `      apply to running: ${median(whole).toFixed(0)} ms at the median of ${REPEATS}; ` +
        `the engine alone: ${median(alone).toFixed(0)} ms; added: ${added.toFixed(0)} ms`,
    );
    await until('the engine to be empty', async () => (await fleet.view.containers()).length === 0);
  });
});
