import { expect } from 'chai';

import type { Replication } from '../../pkg/agent/replication/index.js';
import { calm } from './fault-profile.js';
import { SimProcess } from './sim-process.js';
import { SimWorld } from './sim-world.js';
import { PeerNetwork } from './simulated-peers.js';
import { createSimulatedVolumes } from './simulated-volumes.js';
import { HeldVolume, VolumeDisk } from './volume-disk.js';

type Peers = NonNullable<ConstructorParameters<typeof Replication>[0]['peers']>;

const V = 'v1';

const setUp = () => {
  const world = new SimWorld(1);
  const lives = ['a', 'b'].map(name => new SimProcess(name, world, { ...calm }));
  return { world, one: lives[0]!, other: lives[1]! };
};

/** What became of a promise, after some time. */
async function settled<T>(world: SimWorld, promise: Promise<T>): Promise<{ value?: T; error?: unknown }> {
  const seen: { value?: T; error?: unknown } = {};
  promise.then(
    value => (seen.value = value),
    (error: unknown) => (seen.error = error),
  );
  await world.pass(5_000);
  return seen;
}

describe('snapshots of simulated volumes', () => {
  const copy = async (from: readonly number[], parents: readonly (readonly number[])[]) => {
    const { world, one, other } = setUp();
    const [own, theirs] = parents;
    const held = new Map([[V, new HeldVolume(1, from, new Map(own && [['s1', own]]))]]);
    const target = new VolumeDisk(new Map([[V, new HeldVolume(1, [], new Map(theirs && [['s1', theirs]]))]]));
    const [sender, receiver] = [
      createSimulatedVolumes(one, new VolumeDisk(held)),
      createSimulatedVolumes(other, target),
    ];
    const parent = own ? { parent: 's1' } : {};
    const copied = (async () => {
      await sender.snapshot(V, 's2');
      const { stream, checksum } = await sender.send(V, 's2', parent.parent);
      await receiver.receive(V, stream, { snapshot: 's2', ...parent, checksum });
      await receiver.promote(V, 's2');
    })();
    const { error } = await settled(world, copied);
    return error ?? target.held.get(V)?.log;
  };

  it('are copied whole, and by what differs from one that both have', async () => {
    expect(await copy([1, 2, 3], [])).to.deep.equal([1, 2, 3]);
    expect(
      await copy(
        [1, 2, 3],
        [
          [1, 2],
          [1, 2],
        ],
      ),
    ).to.deep.equal([1, 2, 3]);
  });

  it('are refused as the difference to something else of that name', async () => {
    expect(
      await copy(
        [1, 2, 3],
        [
          [1, 2],
          [1, 9],
        ],
      ),
    ).to.include({ why: 'bad_stream' });
  });
});

describe('simulated peers', () => {
  const connect = async (named = 'key of b') => {
    const { world, one, other } = setUp();
    const network = new PeerNetwork();
    const reach = (life: SimProcess): Peers =>
      network.reachedBy(life, { address: `${life.name}:1`, publicKey: async () => `key of ${life.name}` });
    const heard: string[] = [];
    const keys: string[] = [];
    const forever = new AbortController().signal;
    void reach(other).listen(async ({ publicKey, stream }) => {
      keys.push(publicKey);
      for await (const chunk of stream) heard.push(String(chunk));
      heard.push('end');
    }, forever);
    await world.pass(1);
    const { value: stream, error } = await settled(
      world,
      reach(one).connect({ address: 'b:1', publicKey: named }, forever),
    );
    return { world, one, other, heard, keys, stream, error };
  };

  it('hear each other in order, know each other, and notice that one has died', async () => {
    const { world, one, heard, keys, stream } = await connect();
    for (const word of ['1', '2', '3']) stream!.write(word);
    await world.pass(100);
    one.kill();
    await world.pass(100);

    expect(heard.join('')).to.equal('123end');
    expect(keys).to.deep.equal(['key of a']);
  });

  it('hear nothing more once they were cut off', async () => {
    const { world, other, heard, stream } = await connect();
    stream!.write('1');
    await world.pass(100);
    other.isolate(50, ['peers']);
    stream!.write('2');
    await world.pass(100);
    stream!.write('3');
    stream!.destroy();
    await world.pass(100);

    expect(heard).to.deep.equal(['1']);
  });

  it('do not answer to another key', async () => {
    const { error, keys } = await connect('key of c');

    expect(error).to.be.instanceOf(Error);
    expect(keys).to.deep.equal([]);
  });
});
