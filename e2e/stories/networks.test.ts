import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import type { NetworkStatus, StoredNetwork } from '../../crds/network/index.js';
import { itDeep, skip, until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { dieTogether } from '../lab/dying-at.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { JobClient } from '../lab/job-client.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

interface ShownNetwork extends StoredNetwork {
  readonly status: NetworkStatus | null;
}

describe('networks, on a real engine', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let bank: TenantClient;
  let image: string;
  let machine: EnrolledMachine;
  let jobs: JobClient;

  before(async function () {
    plane = await ControlPlane.start({ MOORING_NODE_FAILED_AFTER_SECONDS: '10', MOORING_LEADER_LEASE_SECONDS: '2' });
    fleet = await Fleet.start(plane);
    if (!fleet.engine.separates) {
      skip(this, 'iptables cannot be used here (run as root, on a kernel with netfilter)');
    }
    [shop, bank] = await Promise.all([TenantClient.open(plane, 'shop'), TenantClient.open(plane, 'bank')]);
    jobs = new JobClient(shop);
    image = await fleet.image('1');
    [machine] = await Promise.all([
      fleet.enrol(shop.client, 'shop-1'),
      fleet.enrol(shop.client, 'shop-2'),
      fleet.enrol(bank.client, 'bank-1'),
    ]);
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const declare = async (of: TenantClient, body: Readonly<Record<string, unknown>>): Promise<ShownNetwork> =>
    unwrap(await of.client.request<ShownNetwork>('POST', '/api/v1/networks', { body }));
  const show = async (name: string, of = shop): Promise<ShownNetwork> =>
    unwrap(await of.client.request<ShownNetwork>('GET', `/api/v1/networks/${name}`));
  const reaches = (name: string, state: NetworkStatus['state'], of = shop) =>
    until(`network ${name} to be ${state}`, async () => (await show(name, of)).status?.state === state, 120_000);
  const engineName = ({ metadata }: StoredNetwork) => `mooring-${metadata.tenant}-${metadata.uid}`;
  const app = (name: string, ...networks: string[]) => ({ name, image, replicas: 1, networks });
  const shell = (script: string) => ({ image, entrypoint: ['/bin/sh', '-c'], command: [script] });
  const only = async (deployment: string, of = shop): Promise<string> => {
    const running = await fleet.view.running(deployment);
    const own = running.filter(({ labels }) => labels['mooring.io/tenant'] === of.id);
    expect(own).to.have.length(1);
    return own[0]!.id;
  };
  const calls = async (from: string, host: string): Promise<boolean> =>
    fleet.view.succeeds(from, `echo | nc -w 2 ${host} 8080`);
  const untilCalled = (from: string, host: string): Promise<unknown> =>
    until(`${host} to be reached`, () => calls(from, host), 60_000);

  it('need a node among several, and exist on its engine', async () => {
    const answer = await shop.client.request('POST', '/api/v1/networks', { body: { name: 'front' } });
    expect(answer.ok ? [] : answer.rejections.map(({ code, field }) => [code, field])).to.deep.equal([
      ['network_node_required', 'nodeId'],
    ]);
    for (const name of ['front', 'back']) await declare(shop, { name, nodeId: 'shop-1' });
    await declare(shop, { name: 'closed', nodeId: 'shop-1', internal: true });
    await declare(bank, { name: 'front', labels: { team: 'bank' } });
    for (const name of ['front', 'back', 'closed']) await reaches(name, 'ready');
    await reaches('front', 'ready', bank);
    expect(await fleet.view.networks()).to.have.length(4);
    expect((await show('front')).status?.node).to.equal('shop-1');
  });

  itDeep(
    '[2.8.6] come and go whole, wherever the server, the controllers and the agent of their node are killed',
    async () => {
      const deaths = [
        { part: plane.api, at: ['network.storing', 'network.stored', 'network.removing', 'network.removed'] as const },
        { part: plane.controllers, at: ['network.rolling', 'network.rolled'] as const },
        { part: machine.agent, at: ['agent.network_created', 'agent.network_removed'] as const },
      ];
      const path = '/api/v1/networks/brief';
      const isStored = async () => (await shop.client.request('GET', path)).ok;
      await dieTogether(deaths, async () => {
        await until('it to be stored', async () => {
          if (await isStored()) return true;
          await declare(shop, { name: 'brief', nodeId: 'shop-1', internal: true });
          return false;
        });
        await reaches('brief', 'ready');
        expect((await fleet.view.networks()).map(({ name }) => name)).to.include(engineName(await show('brief')));
        const [host, port] = [
          await fleet.view.gateway(engineName(await show('brief'))),
          fleet.registry.address.split(':')[1],
        ];
        await jobs.create({
          ...shell(`nc -w 2 ${host} ${port} < /dev/null 2> /dev/null && echo out || echo held`),
          name: 'tries',
          networks: ['brief'],
        });
        await until('it to have ended', async () => (await jobs.show('tries')).status.phase === 'Succeeded');
        expect(await until('its log', () => jobs.log('tries'))).to.equal('held\n');
        await until('it to be removed', async () => {
          if (!(await isStored())) return true;
          await shop.client.request('DELETE', path);
          return false;
        });
        await until('the engine to have no more than before', async () => (await fleet.view.networks()).length === 4);
      });
      const query = { subject: 'brief' };
      const { items } = unwrap(await shop.client.all<StoredEvent>('/api/v1/events', { query }));
      const orders = items.map(({ type }) => type).filter(type => /created|deleted/.test(type));
      expect(orders.sort()).to.deep.equal(['network.created', 'network.deleted']);
      const isLeft = async () => (await plane.storedKeys()).some(key => /^network.*\/brief$/.test(key));
      await until('nothing of it to be left', async () => !(await isLeft()));
    },
  );

  it('[2.8.6] hold the deployments that join them on their node, reached by name', async () => {
    for (const body of [app('web', 'front'), app('proxy', 'front', 'back'), app('db', 'back')]) await shop.apply(body);
    await bank.apply(app('web', 'front'));
    for (const name of ['web', 'proxy', 'db']) {
      const { status } = await shop.reaches(name, 'Running');
      expect(status?.placements.map(({ nodeName }) => nodeName)).to.deep.equal(['shop-1']);
    }
    await bank.reaches('web', 'Running');
    const proxy = await only('proxy');
    await untilCalled(proxy, 'web');
    await untilCalled(proxy, 'db');
    await untilCalled(await only('web'), 'proxy');
  });

  it('[2.8.6] hold the jobs that join them on their node, which reach deployments by name', async () => {
    await jobs.create({
      ...shell('trap "exit 0" TERM; until echo | nc -w 2 db 8080; do sleep 1; done; echo reached; sleep 600 & wait'),
      name: 'probe',
      networks: ['back'],
    });
    const { status } = await jobs.reaches('probe', 'Running');
    expect(status.history.map(({ nodeName }) => nodeName)).to.deep.equal(['shop-1']);
    await until('db to be reached', async () => (await jobs.log('probe')).includes('reached'));
    const answer = await shop.client.request('DELETE', '/api/v1/networks/back');
    expect(answer.ok ? [] : answer.rejections.map(({ code, expected }) => `${code} ${expected}`)).to.deep.equal([
      'network_in_use a network that nothing joins; joined by db, job.probe, proxy',
    ]);
    await jobs.remove('probe');
  });

  itDeep('cannot reach each other, nor those of another tenant with the same name', async () => {
    const [front, back, foreign] = [await show('front'), await show('back'), await show('front', bank)];
    const [web, db, other] = [await only('web'), await only('db'), await only('web', bank)];
    expect(await fleet.view.succeeds(web, 'nslookup db')).to.equal(false);
    expect(await calls(web, await fleet.view.address(db, engineName(back)))).to.equal(false);
    expect(await calls(db, await fleet.view.address(web, engineName(front)))).to.equal(false);
    expect(await calls(other, await fleet.view.address(web, engineName(front)))).to.equal(false);
    expect(await calls(web, await fleet.view.address(other, engineName(foreign)))).to.equal(false);
    const own = await fleet.view.address(other, engineName(foreign));
    expect(await fleet.view.succeeds(other, `nslookup web | grep -q ${own}`)).to.equal(true);
  });

  itDeep('without a way out lead to their own containers only', async () => {
    await shop.apply({ ...app('vault', 'closed'), replicas: 2 });
    await shop.reaches('vault', 'Running');
    const [inside, peer] = (await fleet.view.running('vault')).map(({ id }) => id);
    const closed = engineName(await show('closed'));
    await untilCalled(inside!, await fleet.view.address(peer!, closed));
    await untilCalled(inside!, 'vault');
    const gateway = await fleet.view.gateway(closed);
    const hosts = [gateway, await fleet.view.gateway(engineName(await show('front'))), '192.0.2.7'];
    for (const host of hosts) {
      const line = `nc -w 2 ${host} ${fleet.registry.address.split(':')[1]} < /dev/null`;
      expect(await fleet.view.succeeds(inside!, line), host).to.equal(false);
    }
    expect(await fleet.view.succeeds(inside!, 'nslookup example.test')).to.equal(false);
    const answer = await shop.client.request('PUT', '/api/v1/deployments/vault', {
      body: { ports: [{ containerPort: 8080, hostPort: 18_080 }] },
    });
    expect(answer.ok ? [] : answer.rejections.map(({ code }) => code)).to.deep.equal(['network_internal_port']);
  });

  itDeep('are repaired when they were removed by hand, without a restart of what is on them', async () => {
    const [web, proxy] = [await only('web'), await only('proxy')];
    const before = await fleet.view.startedAt(web);
    const front = engineName(await show('front'));
    const findId = async () => (await fleet.view.networks()).find(({ name }) => name === front)?.id;
    const removed = await findId();
    await fleet.view.removeNetwork(front);
    await until('another network in its place', async () => ![removed, undefined].includes(await findId()), 120_000);
    await untilCalled(proxy, 'web');
    expect(await fleet.view.startedAt(web)).to.equal(before);
  });

  itDeep('are there again after a kill of the engine, and of the agent', async () => {
    await fleet.engine.kill();
    await machine.agent.kill('SIGKILL');
    await fleet.engine.restart();
    machine.agent.start();
    for (const name of ['web', 'proxy', 'vault']) await shop.reaches(name, 'Running');
    await until('a container of web to be reached', async () => calls(await only('proxy'), 'web'), 120_000);
    await reaches('front', 'ready');
  });

  itDeep('say that their node is silent, and return with it', async () => {
    await machine.agent.kill('SIGKILL');
    await reaches('front', 'unknown');
    expect((await show('front')).status?.message).to.match(/no heartbeat from its node shop-1/);
    machine.agent.start();
    await reaches('front', 'ready');
  });

  it('are explained where they are in the way', async () => {
    await shop.apply({ ...app('far', 'front'), placement: { constraints: [{ key: 'disk', operator: 'Exists' }] } });
    await shop.reaches('far', 'Unschedulable');
    const answer = unwrap(
      await shop.client.request<{ candidates: { node: string; reasons: { filter: string; message: string }[] }[] }>(
        'GET',
        '/api/v1/deployments/far/explain',
      ),
    );
    const elsewhere = answer.candidates.find(({ node }) => node === 'shop-2');
    const reason = elsewhere?.reasons.find(({ filter }) => filter === 'network');
    expect(reason?.message).to.equal('the deployment joins network front, which is on shop-1');
    await shop.remove('far');
  });

  it('are deleted once nothing is on them, and leave nothing behind', async () => {
    const refused = await shop.client.request('DELETE', '/api/v1/networks/front');
    expect(refused.ok ? [] : refused.rejections.map(({ code, expected }) => `${code} ${expected}`)).to.deep.equal([
      'network_in_use a network that nothing joins; joined by proxy, web',
    ]);
    const { items } = unwrap(await shop.client.request<{ items: { name: string }[] }>('GET', '/api/v1/deployments'));
    for (const { name } of items) await shop.remove(name);
    await bank.remove('web');
    for (const name of ['front', 'back', 'closed']) {
      unwrap(await shop.client.request('DELETE', `/api/v1/networks/${name}`));
    }
    unwrap(await bank.client.request('DELETE', '/api/v1/networks/front'));
    await until('the engine to have none', async () => (await fleet.view.networks()).length === 0, 120_000);
    const isLeft = async () => (await plane.storedKeys()).some(key => key.startsWith('network'));
    await until('the store to have none', async () => !(await isLeft()));
  });
});
