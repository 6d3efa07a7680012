import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'chai';

import { releaseFolders } from '../../dev/processes/index.js';
import { itDeep, skip, until } from '../../dev/testing/index.js';
import { listLoopDevices, listMounts } from '../../pkg/agent/volumes/mounts.js';
import { explainNoBtrfs } from '../../pkg/agent/volumes/open-driver.js';
import { ControlPlane } from '../lab/control-plane.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

/** A volume as the API shows it, as far as the story looks. */
interface ShownVolume {
  readonly id: string;
  readonly name: string;
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly primaryNodeName: string | null;
  readonly driver: string | null;
  readonly usedBytes: number | null;
  readonly capacityBytes: number | null;
  readonly consumers: readonly { readonly deployment: string; readonly readOnly: boolean }[];
}

const SIZE = 128 * 2 ** 20;
const noBtrfs = await explainNoBtrfs();

describe('volumes, on a real engine', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let images: readonly string[];
  let machine: EnrolledMachine;
  let holder: EnrolledMachine;
  let allowed: string;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_NODE_FAILED_AFTER_SECONDS: '10' });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    images = [await fleet.image('1'), await fleet.image('2')];
    allowed = join(plane.folder, 'allowed');
    await mkdir(allowed, { mode: 0o755 });
    const driver = { flags: ['--volume-driver=directory', `--bind-root=${allowed}`] };
    const enrol = (name: string) => fleet.enrol(shop.client, name, {}, driver);
    [machine, holder] = await Promise.all([enrol('shop-1'), enrol('shop-2')]);
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const make = async (body: Readonly<Record<string, unknown>>) =>
    unwrap(
      await shop.client.request<ShownVolume>('POST', '/api/v1/dvm/volumes', {
        body: { class: 'ephemeral', sizeBytes: SIZE, ...body },
      }),
    );
  const find = async (name: string): Promise<ShownVolume | undefined> => {
    const answer = await shop.client.request<ShownVolume>('GET', `/api/v1/dvm/volumes/${name}`);
    return answer.ok ? answer.value : undefined;
  };
  const reaches = async (name: string, phase: string): Promise<ShownVolume> => {
    let last: ShownVolume | undefined;
    await until(
      `volume ${name} to be ${phase}`,
      async () => {
        last = await find(name);
        return last?.phase === phase;
      },
      120_000,
    );
    return last!;
  };
  const remove = (name: string) => shop.client.request<ShownVolume>('DELETE', `/api/v1/dvm/volumes/${name}`);
  const only = async (deployment: string): Promise<string> => {
    const running = await fleet.view.running(deployment);
    expect(running).to.have.length(1);
    return running[0]!.id;
  };
  const holds = (id: string, file: string, text: string) => fleet.view.succeeds(id, `grep -qx ${text} ${file}`);
  const codes = (answer: Awaited<ReturnType<typeof remove>>) =>
    answer.ok ? [] : answer.rejections.map(({ code }) => code);

  it('[2.2.20 2.2.27] are made on one node, and what mounts them runs there', async () => {
    const { id } = await make({ name: 'data', primaryNode: 'shop-2' });
    const ready = await reaches('data', 'Ready');
    expect(ready).to.include({ id, primaryNodeName: 'shop-2' });
    expect(ready.driver).to.be.oneOf(['btrfs', 'directory']);

    await shop.apply({ name: 'db', image: images[0], replicas: 1, volumes: [{ volumeId: id, mountPath: '/data' }] });
    const { status } = await shop.reaches('db', 'Running');
    expect(status?.placements.map(({ nodeName }) => nodeName)).to.deep.equal(['shop-2']);
    expect((await find('data'))?.consumers).to.deep.equal([{ deployment: 'db', readOnly: false }]);
    const other = await shop.client.request('PUT', '/api/v1/deployments/db', { body: { nodeId: 'shop-1' } });
    expect(other.ok ? [] : other.rejections.map(({ code }) => code)).to.deep.equal(['volume_primary_mismatch']);
  });

  it('[2.2.27] keep their bytes when the container is replaced, and never have two writers at once', async () => {
    const first = await only('db');
    expect(await fleet.view.succeeds(first, 'echo kept > /data/file && sync')).to.equal(true);
    await shop.change('db', { image: images[1] });
    let most = 0;
    await until(
      'another container',
      async () => {
        const running = await fleet.view.running('db');
        most = Math.max(most, running.length);
        return running.length === 1 && running[0]!.id !== first;
      },
      120_000,
    );
    expect(most).to.equal(1);
    await shop.reaches('db', 'Running');
    expect(await holds(await only('db'), '/data/file', 'kept')).to.equal(true);
  });

  const has = (name: string, sizeBytes: number) =>
    until(
      `the volume to have ${sizeBytes} bytes`,
      async () => {
        const now = await find(name);
        return now?.phase === 'Ready' && now.reason === 'volume_ready' && now.capacityBytes === sizeBytes;
      },
      120_000,
    );
  const resize = (name: string, sizeBytes: number) =>
    until(
      'the size to be taken',
      async () => (await shop.client.request('PATCH', `/api/v1/dvm/volumes/${name}`, { body: { sizeBytes } })).ok,
      120_000,
    );
  /** The agent dies at each step, and the next one completes what it began. */
  const dieResizing = async (
    { agent }: EnrolledMachine,
    name: string,
    steps: readonly (readonly [point: string, sizeBytes: number])[],
  ) => {
    for (const [point, sizeBytes] of steps) {
      await agent.restart('SIGKILL', `${point}=kill`);
      await resize(name, sizeBytes);
      await agent.died(point, 120_000);
      agent.start();
      await has(name, sizeBytes);
    }
  };

  it('get another size while they are in use, also when the agent dies on the way', async () => {
    await has('data', SIZE);
    const writer = await only('db');
    await resize('data', 2 * SIZE);
    await has('data', 2 * SIZE);
    await dieResizing(holder, 'data', [
      ['volume.resizing', 3 * SIZE],
      ['volume.resized', SIZE],
    ]);
    expect(await only('db')).to.equal(writer);
    expect(await holds(writer, '/data/file', 'kept')).to.equal(true);
  });

  it('are read by others, below a folder of them and without a right to write', async () => {
    const { id } = (await find('data'))!;
    expect(await fleet.view.succeeds(await only('db'), 'mkdir -p /data/sub && echo below > /data/sub/file')).to.equal(
      true,
    );
    const mount = { volumeId: id, mountPath: '/in', subPath: 'sub', readOnly: true };
    await shop.apply({ name: 'reader', image: images[0], replicas: 1, volumes: [mount] });
    await shop.reaches('reader', 'Running');
    const reader = await only('reader');
    expect(await holds(reader, '/in/file', 'below')).to.equal(true);
    expect(await fleet.view.succeeds(reader, 'echo no > /in/file')).to.equal(false);
    expect(await fleet.view.succeeds(reader, 'cat /in/../file')).to.equal(false);
    expect(codes(await remove('data'))).to.deep.equal(['volume_in_use']);
  });

  it('do not lead out of themselves, whatever a workload plants in them', async () => {
    const { id } = (await find('data'))!;
    expect(await fleet.view.succeeds(await only('db'), 'ln -s / /data/escape')).to.equal(true);
    const mount = { volumeId: id, mountPath: '/in', subPath: 'escape', readOnly: true };
    await shop.apply({ name: 'thief', image: images[0], replicas: 1, volumes: [mount] });
    await until(
      'the mount to be refused',
      async () => JSON.stringify((await shop.show('thief')).status).includes('volume_missing'),
      120_000,
    );
    expect(await fleet.view.running('thief')).to.deep.equal([]);
    for (const name of ['thief', 'reader']) await shop.remove(name);
  });

  it('of memory are bounded, and empty in the next container', async () => {
    const { id } = await make({ name: 'scratch', type: 'tmpfs', sizeBytes: 2 ** 20 });
    await reaches('scratch', 'Ready');
    await shop.apply({
      name: 'cache',
      image: images[0],
      replicas: 1,
      volumes: [{ volumeId: id, mountPath: '/scratch' }],
    });
    await shop.reaches('cache', 'Running');
    const cache = await only('cache');
    expect(await fleet.view.succeeds(cache, 'echo here > /scratch/file')).to.equal(true);
    expect(await fleet.view.succeeds(cache, 'dd if=/dev/zero of=/scratch/big bs=1M count=3')).to.equal(false);
    await fleet.view.kill(cache);
    await shop.change('cache', { image: images[1] });
    await until(
      'another container',
      async () => (await fleet.view.running('cache')).some(({ id: now }) => now !== cache),
      120_000,
    );
    await shop.reaches('cache', 'Running');
    expect(await fleet.view.succeeds(await only('cache'), 'test -e /scratch/file')).to.equal(false);
    await shop.remove('cache');
  });

  it('of type bind are folders that the operator of the machine offers, and their files stay', async () => {
    await mkdir(join(allowed, 'photos'));
    await writeFile(join(allowed, 'photos', 'old'), 'old\n');
    const { id } = await make({ name: 'photos', type: 'bind', primaryNode: 'shop-2' });
    expect(await reaches('photos', 'Ready')).to.include({ driver: 'bind', usedBytes: null });
    const volumes = [{ volumeId: id, mountPath: '/photos' }];
    await shop.apply({ name: 'gallery', image: images[0], replicas: 1, volumes });
    await shop.reaches('gallery', 'Running');
    const gallery = await only('gallery');
    expect(await holds(gallery, '/photos/old', 'old')).to.equal(true);
    expect(await fleet.view.succeeds(gallery, 'echo new > /photos/new')).to.equal(true);
    await shop.remove('gallery');
    await until('nothing to mount it', async () => (await remove('photos')).ok, 120_000);
    await until('the volume to be gone', async () => (await find('photos')) === undefined, 120_000);
    expect(await readFile(join(allowed, 'photos', 'new'), 'utf8')).to.equal('new\n');
    expect((await listMounts()).filter(({ path }) => path.includes(id))).to.deep.equal([]);
  });

  itDeep('are Degraded while their node is silent, and stay where they are', async () => {
    await make({ name: 'far', primaryNode: 'shop-1' });
    await reaches('far', 'Ready');
    await machine.agent.kill('SIGKILL');
    const silent = await reaches('far', 'Degraded');
    expect(silent).to.include({ primaryNodeName: 'shop-1', reason: 'volume_node_silent' });
    unwrap(await remove('far'));
    await until(
      'the deletion to say what it waits for',
      async () => (await find('far'))?.reason === 'volume_node_silent',
      60_000,
    );
    machine.agent.start();
    await until('the volume to be gone', async () => (await find('far')) === undefined, 120_000);
  });

  it('are deleted, and their bytes kept for a time', async () => {
    const { id } = (await find('data'))!;
    await shop.remove('db');
    await until('nothing to mount it', async () => (await remove('data')).ok, 120_000);
    await until('the volume to be gone', async () => (await find('data')) === undefined, 120_000);
    const left = await readdir(join(plane.folder, 'agent-shop-2', 'volumes'));
    expect(left.filter(name => name.includes(id))).to.deep.equal([`.removed-${id}.1`]);
    const again = await make({ name: 'data', primaryNode: 'shop-2' });
    await reaches('data', 'Ready');
    await shop.apply({
      name: 'db',
      image: images[0],
      replicas: 1,
      volumes: [{ volumeId: again.id, mountPath: '/data' }],
    });
    await shop.reaches('db', 'Running');
    expect(await fleet.view.succeeds(await only('db'), 'test -e /data/file')).to.equal(false);
  });

  describe('on btrfs', () => {
    let keeper: EnrolledMachine;
    let id: string;
    let state: string;
    before(async function () {
      if (noBtrfs !== undefined) skip(this, noBtrfs);
      keeper = await fleet.enrol(shop.client, 'shop-3', {}, { flags: ['--volume-driver=btrfs'] });
      state = join(plane.folder, 'agent-shop-3');
      ({ id } = await make({ name: 'disk', primaryNode: 'shop-3' }));
      expect(await reaches('disk', 'Ready')).to.include({ driver: 'btrfs' });
      const volumes = [{ volumeId: id, mountPath: '/data' }];
      await shop.apply({ name: 'writer', image: images[0], replicas: 1, volumes });
      await shop.reaches('writer', 'Running');
    });

    const devices = async () => (await listLoopDevices()).filter(({ file }) => file.includes(id));
    const lastHeartbeatAt = async () => {
      const node = await shop.client.request<{ agent: { lastHeartbeatAt: string } }>('GET', '/api/v1/nodes/shop-3');
      return unwrap(node).agent.lastHeartbeatAt;
    };
    const isHeld = async (file: string, text: string) => {
      const [running] = await fleet.view.running('writer');
      return running !== undefined && (await holds(running.id, file, text));
    };

    it('are full for their workload alone: it gets ENOSPC, and the node keeps its space', async () => {
      const writer = await only('writer');
      expect(await fleet.view.succeeds(writer, 'echo kept > /data/file && sync')).to.equal(true);
      const image = join(state, 'volumes', id, 'image');
      const { blocks } = await stat(image);
      expect(blocks * 512).to.be.at.least(SIZE);
      const fill = 'dd if=/dev/zero of=/data/big bs=1M count=200 2>&1 | grep -q "No space left on device"';
      expect(await fleet.view.succeeds(writer, fill)).to.equal(true);
      expect((await stat(image)).blocks).to.equal(blocks);
      expect(await fleet.view.succeeds(writer, 'rm /data/big && sync')).to.equal(true);
      // The kernel gives back what data has taken from metadata with a later commit.
      await until('room for new files', () => fleet.view.succeeds(writer, 'echo more > /data/more'), 120_000);
    });

    itDeep('get another size while they are in use, whichever step the agent dies at', async () => {
      const writer = await only('writer');
      await dieResizing(keeper, 'disk', [
        ['volume.resizing', 2 * SIZE],
        ['volume.image_grown', 4 * SIZE],
        ['volume.shrunk', 3 * SIZE],
        ['volume.resized', 2 * SIZE],
      ]);
      expect((await stat(join(state, 'volumes', id, 'image'))).size).to.equal(2 * SIZE);
      expect(await only('writer')).to.equal(writer);
      expect(await holds(writer, '/data/file', 'kept')).to.equal(true);
    });

    itDeep('are written while their agent is away, and are there when it is back', async () => {
      const writer = await only('writer');
      await keeper.agent.kill('SIGKILL');
      expect(await fleet.view.succeeds(writer, 'echo meanwhile > /data/meanwhile && sync')).to.equal(true);
      const last = await lastHeartbeatAt();
      keeper.agent.start();
      await until('a heartbeat of the agent', async () => (await lastHeartbeatAt()) !== last, 120_000);
      await reaches('disk', 'Ready');
      expect(await only('writer')).to.equal(writer);
      expect(await holds(writer, '/data/meanwhile', 'meanwhile')).to.equal(true);
    });

    itDeep('are mounted again after the machine was off', async () => {
      await keeper.agent.kill('SIGKILL');
      await fleet.view.kill(await only('writer'));
      await releaseFolders([state]);
      await until('the device to be gone', async () => (await devices()).length === 0, 60_000);
      keeper.agent.start();
      await until('the workload to have its bytes again', () => isHeld('/data/file', 'kept'), 120_000);
      expect(await isHeld('/data/meanwhile', 'meanwhile')).to.equal(true);
    });

    it('leave no mount and no device behind', async () => {
      await shop.remove('writer');
      await until('nothing to mount it', async () => (await remove('disk')).ok, 120_000);
      await until('the volume to be gone', async () => (await find('disk')) === undefined, 120_000);
      expect((await listMounts()).filter(({ path }) => path.includes(id))).to.deep.equal([]);
      await until('the device to be given back', async () => (await devices()).length === 0, 60_000);
      const left = await readdir(join(state, 'volumes'));
      expect(left.toSorted(), 'what is kept for a time, and what names the disk').to.deep.equal([
        `.removed-${id}.1`,
        'disk.json',
      ]);
    });
  });
});
