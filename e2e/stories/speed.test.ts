import { performance } from 'node:perf_hooks';

import { expect } from 'chai';

import { DockerEngine } from '../../pkg/agent/index.js';
import type { Change } from '../../pkg/client/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { type ShownDeployment, TenantDesk } from '../lab/tenant-desk.js';
import { until } from '../lab/until.js';

const REPEATS = 15;
const LIMIT_MS = 300;

const median = (times: readonly number[]) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;

describe('from apply to running', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantDesk;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantDesk.open(plane, 'shop');
    await fleet.enrol(shop.client, 'shop-1');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  /** What the engine itself takes to create and start the same container. */
  async function engineAlone(engine: DockerEngine, image: string, round: number): Promise<number> {
    const owner = {
      nodeId: 'measured-alone',
      tenant: shop.id,
      deployment: `alone-${round}`,
      deploymentUid: `alone-${round}`,
      replica: `alone-${round}`,
      slot: 0,
      generation: 1,
      templateHash: '0',
    };
    const name = `alone-${round}`;
    const begun = performance.now();
    const id = await engine.create({
      name,
      image,
      environment: {},
      ports: [],
      network: `mooring-${shop.id}`,
      alias: name,
      owner,
    });
    await engine.start(id);
    const took = performance.now() - begun;
    await engine.remove(id);
    return took;
  }

  /** From sending the deployment until a tail that was already open shows that it runs. */
  async function applied(image: string, round: number): Promise<number> {
    const name = `fast-${round}`;
    const abort = new AbortController();
    const tail = shop.client
      .watch<ShownDeployment>('/api/v1/deployments', { signal: abort.signal })
      [Symbol.asyncIterator]();
    while ((await next(tail)).type !== 'bookmark');

    const begun = performance.now();
    await shop.apply({ name, image });
    for (;;) {
      const change = await next(tail);
      if ('object' in change && change.object.name === name && change.object.status?.phase === 'Running') break;
    }
    const took = performance.now() - begun;
    abort.abort();
    await shop.remove(name);
    return took;
  }

  it(`adds under ${LIMIT_MS} ms at the median to what the engine takes`, async () => {
    const image = await fleet.image('1');
    const engine = new DockerEngine({ host: fleet.engine.host });
    await applied(image, 0);
    const [alone, whole]: [number[], number[]] = [[], []];
    for (let round = 1; round <= REPEATS; round++) {
      alone.push(await engineAlone(engine, image, round));
      whole.push(await applied(image, round));
    }
    await engine.close();

    const added = median(whole) - median(alone);
    console.log(
      `      apply to running: ${median(whole).toFixed(0)} ms at the median of ${REPEATS}; ` +
        `the engine alone: ${median(alone).toFixed(0)} ms; added: ${added.toFixed(0)} ms`,
    );
    expect(added).to.be.below(LIMIT_MS);
    await until('the engine to be empty', async () => (await fleet.view.containers()).length === 0);
  });
});

async function next<T>(tail: AsyncIterator<Change<T>>): Promise<Change<T>> {
  const result = await tail.next();
  if (result.done) throw new Error('the tail ended');
  return result.value;
}
