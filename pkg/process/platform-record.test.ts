import { expect } from 'chai';

import { ranges } from '../../crds/keys/index.js';
import { seededRandom } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { InvalidSettingFault } from '../config/index.js';
import { silentLogger } from '../log/index.js';
import { MemoryStore, StoreUnavailableFault } from '../store/index.js';
import { findOwnNode, PlatformRecord } from './platform-record.js';

describe('the record of a process of the control plane', () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const list = async () => (await store.list(ranges.platformOn('n1'))).entries.map(({ key }) => key);
  const start = (program: string, over: Partial<MemoryStore> = {}) => {
    const stop = new AbortController();
    const reached = {
      grant: store.grant.bind(store),
      keepAlive: store.keepAlive.bind(store),
      commit: store.commit.bind(store),
      revoke: store.revoke.bind(store),
      ...over,
    };
    const random = seededRandom(program.length);
    const options = { store: reached, clock, random, log: silentLogger, program, node: 'n1', ttlSeconds: 30 };
    return { stop, ended: new PlatformRecord(options).run(stop.signal) };
  };

  it('is kept fresh without further writes, and removed at the end; each process has its own', async () => {
    const server = start('server');
    const controllers = start('controllers');
    await clock.pass(1_000);
    expect(await list()).to.have.length(2);
    const revision = await store.revision();
    await clock.pass(600_000);
    expect(await list()).to.have.length(2);
    expect(await store.revision()).to.equal(revision);

    server.stop.abort();
    await clock.pass(0);
    await server.ended;
    const [left = ''] = await list();
    expect(left).to.match(/^platform\/n1\/controllers-[0-9a-f]{16}$/);
    controllers.stop.abort();
    await clock.pass(0);
    await controllers.ended;
    expect(await list()).to.deep.equal([]);
  });

  it('ends with its lease when its process is cut off, and comes back', async () => {
    let isAway = false;
    const process = start('server', {
      keepAlive: async id => {
        if (isAway) throw new StoreUnavailableFault('away');
        return store.keepAlive(id);
      },
    });
    await clock.pass(1_000);
    expect(await list()).to.have.length(1);
    isAway = true;
    await clock.pass(31_000);
    expect(await list()).to.deep.equal([]);
    isAway = false;
    await clock.pass(20_000);
    expect(await list()).to.have.length(1);
    process.stop.abort();
    await clock.pass(0);
    await process.ended;
  });

  it('names the node as it is set, or as an agent of the machine is called', () => {
    expect(findOwnNode({ nodeName: 'attic' }, 'cellar')).to.equal('attic');
    expect(findOwnNode({ nodeName: '' }, 'Cellar.example.com')).to.equal('cellar');
    expect(findOwnNode({ nodeName: '' }, 'my_machine')).to.equal(undefined);
    expect(() => findOwnNode({ nodeName: 'a/b' })).to.throw(InvalidSettingFault);
  });
});
