import { expect } from 'chai';

import { type ContainerSpec, SimulatedEngine } from '../../pkg/agent/index.js';
import type { ApiAnswer } from '../../pkg/client/index.js';
import { seededRandom, systemClock } from '../../pkg/clock/index.js';
import { PartFault } from './part.js';
import { listReservedPorts } from './control-plane.js';
import { removeNode } from './nodes.js';

const IMAGE = 'registry.example.com/web:1.0.0';

function order(nodeId: string, slot: number): ContainerSpec {
  const owner = {
    nodeId,
    tenant: 'ten_1',
    deployment: 'web',
    deploymentUid: 'dep_1',
    replica: `rep_${nodeId}_${slot}`,
    slot,
    generation: 1,
    templateHash: 'h',
  };
  return { name: `${nodeId}-web-${slot}`, image: IMAGE, environment: {}, ports: [], network: 'n', alias: 'web', owner };
}

describe('removal of a node', () => {
  const engine = new SimulatedEngine({ clock: systemClock, random: seededRandom(1) });
  const left = async (nodeId: string) => (await engine.list(nodeId)).length;

  before(async () => {
    await engine.pull(IMAGE);
    for (const nodeId of ['node_1', 'node_2']) {
      await engine.start(await engine.create(order(nodeId, 0)));
      await engine.create(order(nodeId, 1));
    }
  });

  const answering = (status: number, asked: unknown[] = []) => ({
    request: async <T>(method: string, path: string): Promise<ApiAnswer<T>> => {
      asked.push([`${method} ${path}`, await left('node_2')]);
      if (status < 300) return { ok: true, status, value: {} as T };
      return { ok: false, status, rejections: [{ code: 'some_code' }] } as unknown as ApiAnswer<T>;
    },
  });

  it('removes the containers of this node only, then fences the node, then deletes it', async () => {
    const asked: unknown[] = [];
    const removed = await removeNode({ name: 'node-2', id: 'node_2' }, { client: answering(200, asked), engine });

    expect(removed).to.equal(2);
    expect(asked).to.deep.equal([
      ['POST /api/v1/nodes/node-2/fence', 0],
      ['DELETE /api/v1/nodes/node-2', 0],
    ]);
    expect(await left('node_1')).to.equal(2);
  });

  it('succeeds when the server does not know the node, so it may be repeated', async () => {
    expect(await removeNode({ name: 'node-2', id: 'node_2' }, { client: answering(404), engine })).to.equal(0);
    expect(await removeNode({ name: 'node-3', id: undefined }, { client: answering(404), engine: undefined })).to.equal(
      0,
    );
  });

  it('fails while the server refuses', async () => {
    const refused = await removeNode({ name: 'node-2', id: 'node_2' }, { client: answering(503), engine }).catch(
      (thrown: unknown) => thrown,
    );

    expect(refused).to.be.instanceOf(PartFault);
  });
});

describe('ports that no container may have', () => {
  it('are those of every part', () => {
    const facts = { serverPort: '1', etcdPort: '2', etcdPeerPort: '3', registryPort: '4', docker: 'unix:///x' };
    expect(listReservedPorts(facts)).to.deep.equal(['1', '2', '3', '4']);
    expect(listReservedPorts({ serverPort: '1' })).to.deep.equal(['1']);
  });
});
