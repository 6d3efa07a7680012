import { expect } from 'chai';

import { sleep } from '../../pkg/clock/index.js';
import { encode, MemoryStore, OutcomeUnknownFault, StoreUnavailableFault, value } from '../../pkg/store/index.js';
import { SimProcess } from './sim-process.js';
import { SimulatedStore } from './simulated-store.js';
import { calm, type FaultProfile } from './fault-profile.js';
import { SimWorld } from './sim-world.js';
import { createSimulatedVolumes } from './simulated-volumes.js';
import { HeldVolume, VolumeDisk } from './volume-disk.js';

const create = (key: string) => ({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(1) }], deletes: [] });

const setUp = (change: Partial<FaultProfile> = {}, seed = 1) => {
  const world = new SimWorld(seed);
  const faults = { ...calm, ...change };
  const life = new SimProcess('p', world, faults);
  const server = new MemoryStore({ clock: world.clock });
  return { world, faults, life, server, store: new SimulatedStore(life, server) };
};

const outcome = <T>(promise: Promise<T>) => {
  const seen: { value?: T; error?: unknown } = {};
  promise.then(
    value => (seen.value = value),
    (error: unknown) => (seen.error = error),
  );
  return seen;
};

describe('a simulated world', () => {
  it('lets things happen in their time, and nothing after it was cancelled', async () => {
    const { world } = setUp();
    const seen: number[] = [];
    for (const ms of [300, 100, 200]) world.after(ms, 'a', () => seen.push(ms));
    world.after(150, 'b', () => seen.push(150))();
    await world.pass(250);

    expect(seen).to.deep.equal([100, 200]);
    expect(world.time).to.equal(250);
  });

  it('lets timers of the machine fire while it comes no further, so that a test can end it', async () => {
    const { world } = setUp();
    let isOver = false;
    setTimeout(() => (isOver = true), 1);
    const again = () => void (isOver || world.after(0, 'again', again));
    again();
    await world.pass(1_000);
    expect(isOver).to.equal(true);
  });

  it('lets what is due together happen in any order, the same for the same seed', async () => {
    const order = async (seed: number) => {
      const world = new SimWorld(seed);
      const seen: number[] = [];
      for (let n = 0; n < 6; n++) world.after(10 + n / 10, `${n}`, () => seen.push(n));
      await world.pass(100);
      return seen.join('');
    };
    const orders = await Promise.all(Array.from({ length: 20 }, (_, seed) => order(seed)));

    expect(new Set(orders).size).to.be.greaterThan(5);
    expect(await order(3)).to.equal(orders[3]);
  });

  it('a killed process never runs another line, though its timers and answers were due', async () => {
    const { world, life, store } = setUp();
    const lines: string[] = [];
    const live = async () => {
      await sleep(life.clock, 100);
      lines.push('first');
      await store.get('k');
      lines.push('asked');
      await sleep(life.clock, 100);
      lines.push('last');
    };
    void live();
    await world.pass(120);
    expect(lines).to.deep.equal(['first', 'asked']);
    life.kill();
    await world.pass(10_000);
    expect(lines).to.deep.equal(['first', 'asked']);
  });

  it('a request of a killed process is carried out all the same', async () => {
    const { world, life, server, store } = setUp({ delayMs: 50 });
    const seen = outcome(store.commit(create('k')));
    life.kill();
    await world.pass(200);

    expect(await server.get('k')).to.not.equal(undefined);
    expect(seen).to.deep.equal({});
  });

  it('a process that is killed in the middle of a step sends nothing more in it, and is known by then', async () => {
    const { world, life, server, store } = setUp();
    const actors: unknown[] = [];
    life.clock.after(10, () => {
      actors.push(world.actor);
      life.kill();
      void store.commit(create('k'));
    });
    world.after(20, 'elsewhere', () => actors.push(world.actor));
    await world.pass(1_000);

    expect(actors).to.deep.equal([life, undefined]);
    expect(await server.get('k')).to.equal(undefined);
  });

  it('a frozen process sleeps through its timers and goes on afterwards', async () => {
    const { world, life } = setUp();
    let fired = 0;
    life.clock.after(100, () => (fired = world.time));
    life.freeze(5_000);
    await world.pass(4_000);
    expect(fired).to.equal(0);
    await world.pass(2_000);
    expect(fired).to.be.within(5_000, 5_010);
  });
});

describe('a store behind a bad wire', () => {
  const cases: readonly { name: string; faults: Partial<FaultProfile>; fault: unknown; stored: boolean }[] = [
    {
      name: 'a request that never arrives stores nothing, for certain',
      faults: { unreachable: 1 },
      fault: StoreUnavailableFault,
      stored: false,
    },
    {
      name: 'a lost answer leaves the outcome open, and the write made',
      faults: { lostReply: 1 },
      fault: OutcomeUnknownFault,
      stored: true,
    },
    {
      name: 'a late request is made after it was given up on',
      faults: { late: 1 },
      fault: OutcomeUnknownFault,
      stored: true,
    },
  ];
  for (const { name, faults, fault, stored } of cases) {
    it(name, async () => {
      const { world, server, store } = setUp(faults);
      const seen = outcome(store.commit(create('k')));
      await world.pass(10_000);

      expect(seen.error).to.be.instanceOf(fault);
      expect((await server.get('k')) !== undefined).to.equal(stored);
    });
  }

  it('cut off from the store, a process gets an error, and its feed breaks and starts again', async () => {
    const { world, life, server, store } = setUp();
    const told: string[] = [];
    void store.follow(
      {
        onReset: ({ entries }) => told.push(`reset ${entries.length}`),
        onEvents: ([event]) => told.push(event!.key),
        onConnected: up => told.push(up ? 'up' : 'down'),
      },
      {},
      new AbortController().signal,
    );
    await world.pass(100);
    life.isolate(2_000, ['store']);
    await server.commit(create('a'));
    const seen = outcome(store.get('a'));
    await world.pass(10_000);

    expect(seen.error).to.be.instanceOf(StoreUnavailableFault);
    expect(told).to.deep.equal(['reset 0', 'up', 'down', 'reset 1', 'up']);
  });

  it('keeps the order of a feed, however long each message takes', async () => {
    const { world, server, store } = setUp({ delayMs: 500 });
    const told: string[] = [];
    void store.follow(
      {
        onReset: () => undefined,
        onEvents: events => events.forEach(({ entry }) => told.push(`${value<number>(entry!)} ${entry!.key}`)),
        onConnected: () => undefined,
      },
      {},
      new AbortController().signal,
    );
    await world.pass(1_000);
    for (const key of ['a', 'b', 'c', 'd']) await server.commit(create(key));
    await world.pass(10_000);

    expect(told).to.deep.equal(['1 a', '1 b', '1 c', '1 d']);
  });
});

describe('simulated volumes', () => {
  const volume = { id: 'v1', sizeBytes: 1 };

  it('outlive the agent that made them, and what it had begun when it died is not done', async () => {
    const { world, life, faults } = setUp();
    const disk = new VolumeDisk();
    void createSimulatedVolumes(life, disk).materialise(volume);
    await world.pass(100);
    void createSimulatedVolumes(life, disk).remove(volume.id);
    life.kill();
    await world.pass(100);

    const next = outcome(createSimulatedVolumes(new SimProcess('q', world, faults), disk).mountPoint(volume.id));
    await world.pass(100);
    expect(disk.findMounted(next.value!).held).to.include({ records: 0 });
    expect(disk.removed).to.deep.equal([]);
  });

  it('that were made are refused while their disk is away, and others are made in its place', async () => {
    const { world, life } = setUp();
    const disk = new VolumeDisk(new Map([[volume.id, new HeldVolume(1, [1, 2, 3, 4, 5])]]));
    const driver = createSimulatedVolumes(life, disk);
    disk.unmount();
    const made = outcome(driver.materialise({ ...volume, isMade: true }));
    await world.pass(100);
    expect(made.error).to.include({ why: 'not_found' });
    void driver.materialise(volume);
    await world.pass(100);
    expect(disk.held.get(volume.id)?.records).to.equal(0);
    disk.mount();
    expect(disk.held.get(volume.id)?.records).to.equal(5);
  });

  it('that nobody has written to keep their snapshots when a bare one was made while their disk was away', async () => {
    const { world, life } = setUp();
    const disk = new VolumeDisk(new Map([[volume.id, new HeldVolume(1, [], new Map([['s-1', []]]))]]));
    const driver = createSimulatedVolumes(life, disk);
    disk.unmount();
    void driver.materialise(volume);
    await world.pass(100);
    disk.mount();
    expect([...disk.held.get(volume.id)!.snapshots.keys()]).to.deep.equal(['s-1']);
  });

  it('that were sent to while their disk was away stay what they became', async () => {
    const { world, life } = setUp();
    const disk = new VolumeDisk(new Map([[volume.id, new HeldVolume(1, [], new Map([['s-1', []]]))]]));
    const driver = createSimulatedVolumes(life, disk);
    disk.unmount();
    void driver.materialise(volume);
    void driver.snapshot(volume.id, 's-2');
    await world.pass(100);
    disk.mount();
    expect([...disk.held.get(volume.id)!.snapshots.keys()]).to.deep.equal(['s-2']);
  });

  it('are left on a disk that was away until they are removed from it, or it is replaced', () => {
    for (const settle of [(disk: VolumeDisk) => disk.remove(volume.id), (disk: VolumeDisk) => disk.swap(volume.id)]) {
      const disk = new VolumeDisk(new Map([[volume.id, new HeldVolume(1, [1])]]));
      disk.unmount();
      disk.remove(volume.id);
      disk.mount();
      expect([...disk.left]).to.deep.equal([volume.id]);
      settle(disk);
      expect([...disk.left]).to.deep.equal([]);
    }
  });

  it('take their calls one after another, however long each takes', async () => {
    const { world, life } = setUp({ delayMs: 50 });
    const disk = new VolumeDisk();
    const driver = createSimulatedVolumes(life, disk);
    for (let turn = 0; turn < 20; turn++) {
      void driver.materialise(volume);
      void driver.remove(volume.id);
      await world.pass(2_000);
      expect([...disk.held.keys()]).to.deep.equal([]);
    }
  });

  it('fail before or after they have done what they were asked for', async () => {
    const disks = await Promise.all(
      Array.from({ length: 20 }, async (_, seed) => {
        const { world, life } = setUp({ unreachable: 1 }, seed);
        const disk = new VolumeDisk();
        const made = outcome(createSimulatedVolumes(life, disk).materialise(volume));
        await world.pass(100);
        expect(made.error).to.include({ why: 'failed' });
        return disk.held.size;
      }),
    );
    expect(new Set(disks)).to.deep.equal(new Set([0, 1]));
  });
});
