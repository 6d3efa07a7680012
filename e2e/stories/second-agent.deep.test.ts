import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'chai';

import { DockerdProcess } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { EngineView } from '../lab/engine-view.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

interface ShownNode {
  readonly id: string;
  readonly conditions: readonly { readonly type: string; readonly reason: string }[];
}

describe('a node with another agent than before', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let original: EnrolledMachine;
  let copiedEngine: DockerdProcess;
  let copied: EngineView;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_NODE_FAILED_AFTER_SECONDS: '3' });
    fleet = await Fleet.start(plane);
    copiedEngine = await DockerdProcess.start({ folder: join(plane.folder, 'engine-copy') });
    copied = new EngineView(copiedEngine.host);
    shop = await TenantClient.open(plane, 'shop');
    original = await fleet.enrol(shop.client, 'shop-1');
    await shop.apply({ name: 'web', image: await fleet.image('1'), replicas: 1 });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    await fleet?.stop();
    await copiedEngine?.destroy();
    await plane?.stop();
  });

  const countEvents = async (type: string) =>
    unwrap(await shop.client.request<{ items: unknown[] }>('GET', `/api/v1/events?type=${type}`)).items.length;
  const readNode = async () => unwrap(await shop.client.request<ShownNode>('GET', '/api/v1/nodes/shop-1'));
  const readLog = () => readFile(join(plane.folder, 'agent-shop-1-copy.log'), 'utf8');

  it('a copied machine does nothing beside its original, is announced once, and has the node when the original is gone', async () => {
    const copy = await fleet.copy(original, copiedEngine.host);
    await until('the second agent to be announced', async () => (await countEvents('node.second_agent')) > 0);
    await shop.apply({ name: 'more', image: await fleet.image('1'), replicas: 2 });
    await shop.reaches('more', 'Running');

    expect(await copied.containers(), 'containers that the copy has made').to.deep.equal([]);
    expect((await fleet.view.running('more')).length).to.equal(2);
    expect((await readNode()).conditions.map(({ type, reason }) => `${type} ${reason}`)).to.include(
      'SingleAgent second_agent_refused',
    );
    expect(await readLog()).to.include('another agent with the identity of this node is running');
    const refused = (text: string) => text.split('node_held_by_another_agent').length;
    const before = refused(await readLog());
    await until('the copy to have tried again', async () => refused(await readLog()) > before + 1);
    expect(await countEvents('node.second_agent')).to.equal(1);

    await original.agent.kill('SIGKILL');
    await until('the copy to have the node', async () => (await copied.running('more')).length === 2);
    const kept = (await fleet.view.running('more')).map(({ id }) => id);
    original.agent.start();
    await until('the original to be announced', async () => (await countEvents('node.second_agent')) > 1);
    expect(
      (await fleet.view.running('more')).map(({ id }) => id),
      'what ran before',
    ).to.deep.equal(kept);

    await copy.agent.kill('SIGKILL');
    const web = (await fleet.view.running('web')).map(({ id }) => id);
    await shop.change('web', { replicas: 2 });
    await until('the original to act again', async () => (await fleet.view.running('web')).length === 2);
    expect((await fleet.view.running('web')).map(({ id }) => id)).to.include.members(web);
  });

  it('a machine that lost its state folder is the same node, keeps its containers, and removes them when asked to', async () => {
    const runningIds = async () =>
      [...(await fleet.view.running('web')), ...(await fleet.view.running('more'))].map(({ id }) => id);
    const [{ id }, kept] = [await readNode(), await runningIds()];
    expect(kept.length).to.equal(4);
    await original.agent.kill('SIGKILL');
    await fleet.enrolAgain(shop.client, original);
    await until('the new key of the node', async () => (await countEvents('node.key_replaced')) > 0);

    await shop.change('web', { replicas: 3 });
    await until('the agent to act again', async () => (await fleet.view.running('web')).length === 3);
    await shop.reaches('web', 'Running');
    await shop.reaches('more', 'Running');
    expect((await readNode()).id).to.equal(id);
    expect(await runningIds(), 'containers that ran before').to.include.members(kept);

    await shop.remove('web');
    await shop.remove('more');
    await until('every container to be gone', async () => (await fleet.view.containers()).length === 0);
  });
});
