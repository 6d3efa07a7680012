import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { value } from '../store/index.js';
import type { AgentRun } from './agent-run.js';
import type { AssignmentLine, Heartbeat } from './agent-link.js';
import { DispatcherLab, LAB_NODE, LAB_TENANT, nodeRecord, replica, secretReplica } from './dispatcher-lab.testing.js';
import { NodeHeldFault } from './presence.js';

const beat: Heartbeat = { labels: {}, capacity: nodeRecord.capacity, agentVersion: 'test' };
const [ONE, TWO, THREE] = ['1'.repeat(16), '2'.repeat(16), '3'.repeat(16)] as const;

describe('the presence of a node', () => {
  let lab: DispatcherLab;

  beforeEach(async () => {
    lab = await new DispatcherLab().start();
  });

  afterEach(() => lab.stop());

  const as = (id: string, ...ended: string[]) => ({ ...LAB_NODE, run: { id, ended } satisfies AgentRun });
  const send = (id: string, ...ended: string[]) => lab.dispatcher.heartbeat(as(id, ...ended), beat);
  const presence = () => {
    const entry = lab.cache.get(keys.alive(LAB_TENANT, LAB_NODE.name));
    return entry && value<NodePresence>(entry);
  };
  const isRefused = (act: Promise<unknown>) =>
    act.then(
      () => false,
      (thrown: unknown) => {
        if (thrown instanceof NodeHeldFault) return true;
        throw thrown;
      },
    );
  const announced = () =>
    lab.cache
      .list(ranges.of(ranges.events, LAB_TENANT))
      .map(entry => value<StoredEvent>(entry))
      .filter(({ type }) => type === 'node.second_agent');

  it('tells the agent whether it had ended before a heartbeat', async () => {
    const isAbsent = async () => (await send(ONE))?.wasAbsent;
    expect([await isAbsent(), await isAbsent()]).to.deep.equal([true, undefined]);
    await lab.clock.pass(60_000);
    expect([await isAbsent(), await isAbsent()]).to.deep.equal([true, undefined]);
    expect((await lab.dispatcher.heartbeat(as(TWO, ONE), beat))?.wasAbsent, 'a run that follows at once').to.equal(
      undefined,
    );
  });

  it('belongs to one run: another one is served nothing while its lease lasts, and has the node afterwards', async () => {
    await send(ONE);
    await lab.assign(replica());
    expect(await isRefused(send(TWO))).to.equal(true);
    expect(await isRefused(lab.dispatcher.report(as(TWO), { reports: [] }))).to.equal(true);
    expect(await isRefused(lab.dispatcher.demandHolder(as(TWO)))).to.equal(true);
    expect(await isRefused(send(ONE))).to.equal(false);

    await lab.clock.pass(31_000);
    expect(await isRefused(send(TWO))).to.equal(false);
    expect(presence()?.run).to.equal(TWO);
    expect(await isRefused(send(ONE)), 'the first one comes back').to.equal(true);
  });

  it('passes at once to a run that knows that the holder has ended, and to one of its successors only', async () => {
    await send(ONE);
    const { lease } = presence()!;
    await send(TWO, ONE);
    expect(presence()?.run).to.equal(TWO);
    expect(await lab.store.keepAlive(lease), 'the lease of the former run').to.equal(false);
    expect(await isRefused(send(THREE, ONE)), 'a second successor').to.equal(true);
    expect(await isRefused(send(ONE)), 'the former run').to.equal(true);
  });

  it('is not extended by heartbeats that are refused, and their labels are not stored', async () => {
    await send(ONE);
    for (let turn = 0; turn < 6; turn++) {
      await lab.clock.pass(4_000);
      const other = { ...beat, labels: { disk: 'copied' } };
      await lab.dispatcher.heartbeat(as(TWO), other).catch(() => undefined);
    }
    const stored = value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!);
    expect(stored.labels).to.deep.equal({});
    await lab.clock.pass(7_000);
    expect(presence()).to.equal(undefined);
  });

  it('passes to the next run where the record of it names none', async () => {
    await send(ONE);
    const { run: _, ...damaged } = presence()!;
    await lab.put(keys.alive(LAB_TENANT, LAB_NODE.name), damaged);
    expect(await isRefused(send(TWO))).to.equal(false);
    expect(presence()?.run).to.equal(TWO);
    expect(await isRefused(send(ONE))).to.equal(true);
  });

  it('announces a second agent once, when both sent heartbeats, and forgets it when it is gone', async () => {
    await send(ONE);
    expect(await isRefused(send(TWO))).to.equal(true);
    await lab.clock.pass(0);
    expect(announced(), 'the first one may be dead').to.have.length(0);
    const counts: number[] = [];
    for (let turn = 0; turn < 30; turn++) {
      await lab.clock.pass(5_000);
      await send(ONE);
      await isRefused(send(TWO));
      await lab.clock.pass(0);
      counts.push(announced().length);
    }
    expect([counts[0], counts.at(-1)]).to.deep.equal([1, 1]);
    expect(announced()[0]).to.include({ severity: 'warning', reason: 'second_agent_refused' });
    const before = await lab.store.revision();
    for (let turn = 0; turn < 10; turn++) await isRefused(send(TWO));
    expect(await lab.store.revision(), 'writes of refused heartbeats').to.equal(before);

    for (let turn = 0; turn < 40; turn++) {
      await lab.clock.pass(5_000);
      await send(ONE);
    }
    await lab.clock.pass(0);
    expect(presence()).to.include({ run: ONE }).and.not.have.property('rival');
  });

  it('announces nothing when a machine was switched off and on again', async () => {
    await send(ONE);
    await lab.clock.pass(10_000);
    expect(await isRefused(send(TWO))).to.equal(true);
    await lab.clock.pass(21_000);
    await send(TWO);
    await lab.clock.pass(5_000);
    await send(TWO);

    expect([presence()?.run, announced()]).to.deep.equal([TWO, []]);
  });

  it('ends the stream of assignments and the secrets of a run that has lost the node', async () => {
    const lines: AssignmentLine[] = [];
    let isEnded = false;
    await send(ONE);
    await lab.keep('web-db', { user: 'shop', password: 'first' });
    const close = lab.dispatcher.assignments(
      as(ONE),
      line => lines.push(line),
      () => (isEnded = true),
    );
    await lab.clock.pass(0);
    await lab.assign(secretReplica());
    await lab.clock.pass(0);
    const ticket = lines.flatMap(line => (line.type === 'set' ? [line.ticket!] : []))[0]!;
    await send(TWO, ONE);
    await lab.clock.pass(0);
    const seen = lines.length;
    await lab.assign(secretReplica({ uid: 'rep_2', slot: 1 }));
    await lab.clock.pass(0);

    expect([isEnded, lines.length]).to.deep.equal([true, seen]);
    const request = { replica: 'rep_1', generation: 1, ticket };
    expect(await isRefused(lab.dispatcher.environment(as(ONE), request))).to.equal(true);
    expect((await lab.dispatcher.environment(as(TWO, ONE), request)).kind).to.equal('ready');
    close();
  });

  it('goes to one of two runs that come at the same time', async () => {
    const refused = await Promise.all([isRefused(send(ONE)), isRefused(send(TWO)), isRefused(send(THREE))]);
    expect(refused.filter(each => !each)).to.have.length(1);
  });

  it('is kept for an agent that claims to have seen its containers before there was time', async () => {
    const sent = lab.dispatcher.heartbeat(as(ONE), { ...beat, containersSeenMsAgo: Number.MAX_VALUE });
    expect(await isRefused(sent)).to.equal(false);
    expect(presence()?.unobservedSince).to.equal('1970-01-01T00:00:00.000Z');
  });
});
