import { expect } from 'chai';

import { itDeep, until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { JobClient } from '../lab/job-client.js';
import { runMoor } from '../lab/moor.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

/** A volume as the API shows it, as far as the story looks. */
interface ShownVolume {
  readonly id: string;
  readonly phase: string;
  readonly message: string | null;
  readonly epoch: number | null;
  readonly primaryNodeName: string | null;
  readonly move: { readonly phase: string; readonly message: string } | null;
  readonly replicas: readonly { readonly nodeName: string; readonly state: string; readonly syncedAt?: string }[];
}

/** What is written to the volume: words that nothing else has. */
const MARKER = 'bytes-of-the-tenant-alone-7f3a9c';

describe('copies of volumes, on a real engine', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let image: string;
  let machines: Readonly<Record<string, EnrolledMachine>>;

  before(async () => {
    plane = await ControlPlane.start({
      MOORING_NODE_FAILED_AFTER_SECONDS: '10',
      MOORING_NODE_GRACE_SECONDS: '5',
      MOORING_VOLUME_SYNC_SECONDS: '2',
    });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    image = await fleet.image('1');
    const flags = ['--volume-driver=directory', '--volume-listen=127.0.0.1:0'];
    const enrol = (name: string) => fleet.enrol(shop.client, name, {}, { flags });
    machines = { 'shop-1': await enrol('shop-1'), 'shop-2': await enrol('shop-2') };
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const find = async (): Promise<ShownVolume> =>
    unwrap(await shop.client.request<ShownVolume>('GET', '/api/v1/dvm/volumes/data'));
  const becomes = (what: string, isSo: (volume: ShownVolume) => boolean) =>
    until(what, async () => isSo(await find()), 240_000);
  const only = async (): Promise<string> => {
    const running = await fleet.view.running('db');
    expect(running).to.have.length(1);
    return running[0]!.id;
  };
  const isCopied = ({ replicas }: ShownVolume, node: string, since = 0) =>
    replicas.some(
      ({ nodeName, state, syncedAt = '' }) => nodeName === node && state === 'synced' && Date.parse(syncedAt) >= since,
    );

  const declare = async (id: string) => {
    await shop.apply({ name: 'db', image, replicas: 1, volumes: [{ volumeId: id, mountPath: '/data' }] });
    await shop.reaches('db', 'Running');
  };

  it('[2.6.2] is made on another node, and brought up to date', async () => {
    const body = { name: 'data', class: 'replicated', sizeBytes: 128 * 2 ** 20, primaryNode: 'shop-1' };
    const { id } = unwrap(await shop.client.request<ShownVolume>('POST', '/api/v1/dvm/volumes', { body }));
    await becomes(
      'the volume to be ready with a copy',
      volume => volume.phase === 'Ready' && isCopied(volume, 'shop-2'),
    );
    await declare(id);
    expect(await fleet.view.succeeds(await only(), `echo ${MARKER} > /data/file && sync`)).to.equal(true);
    const written = Date.now();
    await becomes('the copy to have it', volume => isCopied(volume, 'shop-2', written));
  });

  /** Until a copy has taken over and the workload with it: how many wrote at once at most. */
  const countWriters = async (epoch: number): Promise<number> => {
    let most = 0;
    const look = async () => {
      most = Math.max(most, (await fleet.view.running('db')).length);
    };
    await becomes('the copy to be promoted', volume => {
      void look();
      return volume.phase === 'Ready' && volume.epoch === epoch;
    });
    await until('the workload to follow', async () => (await fleet.view.running('db')).length === 1, 240_000);
    return most;
  };

  it('[4.20] is promoted when the agent of the primary was killed, with every byte, and what wrote there is killed before', async () => {
    const former = await only();
    await machines['shop-1']!.agent.kill('SIGKILL');
    expect(await countWriters(2)).to.equal(1);
    const { status } = await shop.reaches('db', 'Running');
    expect(await only()).not.to.equal(former);
    expect(status?.placements.map(({ nodeName }) => nodeName)).to.deep.equal(['shop-2']);
    expect(await fleet.view.succeeds(await only(), `grep -qx ${MARKER} /data/file`)).to.equal(true);
  });

  it('is made of the former primary when it returns', async () => {
    machines['shop-1']!.agent.start();
    await becomes('the former primary to be a copy', volume => isCopied(volume, 'shop-1'));
    expect(await find()).to.include({ phase: 'Ready', primaryNodeName: 'shop-2', epoch: 2 });
  });

  it('does not take over when the agent was stopped by order, until the machine is said to be off', async () => {
    const { agent } = machines['shop-2']!;
    await agent.kill('SIGTERM');
    await becomes(
      'the volume to say what it waits for',
      ({ message }) => message?.includes('moor nodes fence') === true,
    );
    expect(await fleet.view.running('db')).to.have.length(1);
    agent.start();
    await becomes('the volume to be served', volume => isCopied(volume, 'shop-1') && volume.phase === 'Ready');
    expect(await find()).to.include({ primaryNodeName: 'shop-2', epoch: 2 });
  });

  itDeep('takes over by order when a job that writes has ended, and has what that wrote last', async () => {
    await shop.remove('db');
    const jobs = new JobClient(shop);
    const { id } = await find();
    const shell = (name: string, line: string) => {
      const volumes = [{ volumeId: id, mountPath: '/data' }];
      return jobs.create({ name, image, entrypoint: ['/bin/sh', '-c'], command: [line], backoffLimit: 0, volumes });
    };
    await shell('nightly', 'until [ -e /data/end ]; do sleep 0.2; done; echo written > /data/last');
    await jobs.reaches('nightly', 'Running');
    const [attempt] = await fleet.view.running('job.nightly');
    const moving = runMoor(plane, shop, 'volume', 'move', 'data', '--to', 'shop-1', '--timeout', '4m');
    await becomes('the move to wait for the job', ({ move }) => {
      return move?.phase === 'Waiting' && move.message === 'jobs that mount it run to their end first: nightly';
    });
    expect(await find()).to.include({ phase: 'Ready', primaryNodeName: 'shop-2' });
    expect(await fleet.view.succeeds(attempt!.id, 'touch /data/end')).to.equal(true);
    expect((await jobs.reaches('nightly', 'Succeeded')).status).to.include({ attempts: 1 });
    const { status, stdout, stderr } = await moving;
    expect(status, stderr).to.equal(0);
    expect(stderr + stdout).to.match(/Waiting: jobs that mount it[^]*moved: it is on shop-1; nothing could use it for/);
    await shell('after', 'grep -qx written /data/last');
    const { history } = (await jobs.reaches('after', 'Succeeded')).status;
    expect(history.map(({ nodeName }) => nodeName)).to.deep.equal(['shop-1']);
    for (const name of ['nightly', 'after']) await jobs.remove(name);
  });

  itDeep('takes over when the agent stands still, and what wrote there is killed before', async () => {
    const { id, epoch, primaryNodeName } = await find();
    await declare(id);
    const [other] = Object.keys(machines).filter(name => name !== primaryNodeName);
    await becomes('the other one to be a copy', volume => isCopied(volume, other!));
    const { agent } = machines[primaryNodeName!]!;
    agent.pause();
    expect(await countWriters(epoch! + 1)).to.equal(1);
    await agent.restart('SIGKILL');
    await becomes('the former primary to be a copy', volume => isCopied(volume, primaryNodeName!));
  });

  it('went from agent to agent: nothing of it is in the store', async () => {
    const store = plane.openStore();
    try {
      const { entries } = await store.list('');
      const having = (text: string) => entries.filter(({ bytes }) => Buffer.from(bytes).includes(text));
      expect(having('volume_ready'), 'what the store has of the volume').not.to.deep.equal([]);
      expect(having(MARKER).map(({ key }) => key)).to.deep.equal([]);
    } finally {
      await store.close();
    }
  });
});
