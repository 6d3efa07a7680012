import { expect } from 'chai';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import { createMemoryDisk } from '../disk.js';
import { type ContainerStatus, type Engine, EngineRefusedFault, type LogEntry } from '../engine/index.js';
import { KeptLogs, selectAfter } from './kept-logs.js';

const ended = (deploymentUid: string, slot: number, id: string, state: ContainerStatus['state'] = 'exited') =>
  ({
    id,
    name: id,
    owner: {
      nodeId: 'node_1',
      tenant: 't',
      deployment: 'web',
      deploymentUid,
      replica: 'r',
      slot,
      generation: 1,
      templateHash: 'h',
    },
    state,
    health: 'none',
    exitCode: 1,
  }) satisfies ContainerStatus;

describe('kept logs', () => {
  const logs = new Map<string, readonly string[]>();
  const clock = new ManualClock();
  const disk = createMemoryDisk();
  const engine = {
    async *logs(id: string, { tail = Infinity }: { readonly tail?: number }): AsyncGenerator<LogEntry> {
      const lines = logs.get(id);
      if (!lines) throw new EngineRefusedFault(404, 'no such container');
      const entries = lines.map((text, at) => ({ stream: 'stdout' as const, at: `${at}`, bytes: Buffer.from(text) }));
      yield* entries.slice(-tail);
    },
  } as unknown as Engine;
  const load = (nodeId = 'node_1') => KeptLogs.load({ clock, disk, engine, log: silentLogger }, nodeId);
  const texts = async (kept: KeptLogs, uid: string, slot: number) =>
    (await kept.find(uid, slot))?.entries.map(({ entry }) => entry.bytes.toString());

  it('have the last container of each slot, over a restart of the agent', async () => {
    const kept = await load();
    logs.set('c1', ['a\n', 'b\n']).set('c2', ['c\n']).set('c3', ['never started']);
    await kept.keep(ended('dep_1', 0, 'c1'));
    await kept.keep(ended('dep_1', 0, 'c2'));
    await kept.keep(ended('dep_1', 1, 'c1'));
    await kept.keep(ended('dep_2', 0, 'c3', 'created'));
    await kept.keep(ended('dep_3', 0, 'gone')); // it is removed all the same
    for (const each of [kept, await load()]) {
      expect(await texts(each, 'dep_1', 0)).to.deep.equal(['c\n']);
      expect(await texts(each, 'dep_1', 1)).to.deep.equal(['a\n', 'b\n']);
      expect(each.deploymentUids).to.deep.equal(['dep_1']);
    }
  });

  it('are bounded, oldest first', async () => {
    const kept = await load();
    const line = `${'x'.repeat(1023)}\n`;
    logs.set(
      'long',
      Array.from({ length: 2_000 }, () => line),
    );
    await kept.keep(ended('dep_long', 0, 'long'));
    const log = (await kept.find('dep_long', 0))!;
    expect([log.entries.length, log.isCut]).to.deep.equal([512, true]);
    expect(selectAfter(log, log.entries[2]!.mark).entries.length).to.equal(509);
    expect(selectAfter(log, { stream: 'stdout', at: '3', count: 1 })).to.deep.equal({
      entries: log.entries,
      hasGap: true,
    });

    logs.set('short', ['a\n']);
    for (let slot = 0; slot < 200; slot++) {
      await clock.pass(1_000);
      await kept.keep(ended('dep_many', slot, 'short'));
    }
    expect(await disk.list()).to.have.length(128);
    expect([await texts(kept, 'dep_many', 71), await texts(kept, 'dep_many', 72)]).to.deep.equal([undefined, ['a\n']]);
    expect((await load()).deploymentUids).to.deep.equal(['dep_many']);
  });

  it('go with their deployment, and when the machine becomes another node', async () => {
    const kept = await load();
    logs.set('c1', ['a\n']);
    await kept.keep(ended('dep_8', 0, 'c1'));
    await kept.keep(ended('dep_9', 0, 'c1'));
    await kept.forget(['dep_many', 'dep_8']);
    expect(await disk.list()).to.deep.equal(['ended-log.dep_9.0.json']);
    const other = await load('node_2');
    expect([await texts(other, 'dep_9', 0), await disk.list()]).to.deep.equal([undefined, []]);
  });

  it('that cannot be read are removed', async () => {
    await disk.write('ended-log.dep_1.0.json', '{"half');
    expect((await load()).deploymentUids).to.deep.equal([]);
    expect(await disk.list()).to.deep.equal([]);
  });
});
