import { expect } from 'chai';

import { EngineRefusedFault, type NetworkSpec } from '../engine.js';
import { toLabels } from '../ownership-labels.js';
import type { DockerApi } from './docker-api.js';
import type { ContainerInspection } from './docker-container.js';
import { DockerNetworks } from './docker-networks.js';

const TENANT = '0b0f7a0e-0000-4000-8000-00000000000a';
const NAME = `mooring-${TENANT}`;
const spec: NetworkSpec = {
  name: 'mooring-backend',
  network: 'backend',
  tenant: TENANT,
  nodeId: 'node_1',
  labels: {},
  internal: false,
};

/** An engine that has the networks which were created, and notes what it is asked. */
class NotedEngine {
  readonly asked: string[] = [];
  readonly #networks: object[] = [];

  async call(method: string, path: string, { body }: { body?: { Name: string; Labels: object } } = {}) {
    this.asked.push(`${method} ${path}`);
    await new Promise(setImmediate);
    if (path === '/networks/create')
      this.#networks.push({ ...body, Id: `id${this.#networks.length}`, Created: String(this.#networks.length) });
    return { status: 200, body: method === 'GET' ? [...this.#networks] : {} };
  }

  count(question: string): number {
    return this.asked.filter(each => each === question).length;
  }
}

describe('DockerNetworks', () => {
  let engine: NotedEngine;
  let networks: DockerNetworks;
  beforeEach(() => {
    engine = new NotedEngine();
    networks = new DockerNetworks(engine as unknown as DockerApi, async () => undefined);
  });

  it('creates a network once for all that ask for it at the same moment, and looks again for the next', async () => {
    await Promise.all(Array.from({ length: 8 }, () => networks.ensure(spec)));
    expect(engine.count('POST /networks/create')).to.equal(1);
    const looks = engine.count('GET /networks');
    await networks.ensure(spec);
    expect(engine.count('GET /networks')).to.be.above(looks);
  });

  describe('starts a container whose network was replaced', () => {
    const owner = { nodeId: 'node_1', tenant: TENANT, deployment: 'web', deploymentUid: 'dep_1', replica: 'rep_1' };
    const Labels = toLabels({ ...owner, slot: 0, generation: 1, templateHash: 'h1' });
    const container = {
      Id: 'c1',
      Config: { Labels },
      NetworkSettings: { Networks: { [NAME]: {} } },
    } as unknown as ContainerInspection;

    it('without taking it off first', async () => {
      await networks.reattach(container, async () => void engine.asked.push('start'));
      expect(engine.asked.slice(-2)).to.deep.equal([`POST /networks/${NAME}/connect`, 'start']);
      expect(engine.count(`POST /networks/${NAME}/disconnect`)).to.equal(0);
    });

    it('taking it off where the engine still asks for the former one', async () => {
      let starts = 0;
      const start = async () => {
        if (starts++ === 0) throw new EngineRefusedFault(404, 'network id0 not found');
      };
      await networks.reattach(container, start);
      expect(engine.asked.slice(-2)).to.deep.equal([
        `POST /networks/${NAME}/disconnect`,
        `POST /networks/${NAME}/connect`,
      ]);
      expect(starts).to.equal(2);
    });

    it('and says what else is wrong with it', async () => {
      const start = () => Promise.reject(new EngineRefusedFault(500, 'port is already allocated'));
      const thrown = await networks.reattach(container, start).catch((error: Error) => error.message);
      expect(thrown).to.match(/port is already allocated/);
      expect(engine.count(`POST /networks/${NAME}/disconnect`)).to.equal(0);
    });
  });
});
