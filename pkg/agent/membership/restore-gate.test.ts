import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import { declareRestore, listConfirmed, previewRestore } from '../../link/index.js';
import { LAB_NODE, LAB_TENANT, replica } from '../../link/dispatcher-lab.testing.js';
import { silentLogger } from '../../log/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { value } from '../../store/index.js';
import { createMemoryDisk } from '../disk.js';
import { NodeLab } from '../node-lab.testing.js';
import { MemoryDriver } from '../replication/memory-driver.testing.js';
import { RestoreGate } from './restore-gate.js';

const moment = (revision: number, restoreEpoch = 0) => ({ revision, restoreEpoch, proof: 'p' });
const snapshot = (revision: number, restoreEpoch = 0, about: object = {}) =>
  ({ type: 'snapshot', replicas: [], store: moment(revision, restoreEpoch), ...about }) as never;
const setBack = { isSetBack: true };

describe('what an agent obeys', () => {
  let files: Map<string, string>;
  let clock: ManualClock;
  let gate: RestoreGate;
  const load = (tenant = 't') => RestoreGate.load({ clock, disk: createMemoryDisk(files), log: silentLogger }, tenant);
  const open = (line: never) => {
    gate.expectStream();
    return gate.admits(line);
  };
  /** Whether the agent holds no longer, with what is told now. */
  const settle = (digest = 'd', isHarmless = false) =>
    gate.ignored !== undefined && gate.settle(gate.ignored, { digest, isHarmless });
  beforeEach(async () => {
    files = new Map();
    clock = new ManualClock();
    gate = await load();
  });

  it('is everything, while the store goes on', () => {
    expect(open(snapshot(10))).to.equal(true);
    expect(gate.admits({ type: 'drop', uid: 'a' })).to.equal(true);
    expect(open(snapshot(10))).to.equal(true);
    expect(open(snapshot(11))).to.equal(true);
    expect(gate.conditions).to.deep.equal([]);
  });

  it('is nothing of a stream before its snapshot', () => {
    open(snapshot(10));
    gate.expectStream();
    expect(gate.admits({ type: 'drop', uid: 'a' })).to.equal(false);
    expect(gate.admits({ type: 'ping' })).to.equal(true);
  });

  it('is nothing of a store that was set back, until a restore is declared with what would go', () => {
    open(snapshot(10));
    expect(open(snapshot(9))).to.equal(false);
    expect([gate.conditions.length, settle()]).to.deep.equal([1, false]);
    expect(gate.admits({ type: 'drop', uid: 'a' })).to.equal(false);
    expect(gate.needsStream, 'what it tells is behind').to.equal(true);
    expect(open(snapshot(11)), 'it has caught up, and is another one').to.equal(false);
    expect([settle(), settle('d', true)]).to.deep.equal([false, false]);
    expect(open(snapshot(4, 7, { confirmed: 'd' })), 'compared first').to.equal(false);
    expect([settle('more'), settle('d')]).to.deep.equal([false, true]);
    expect([gate.conditions.length, gate.needsStream]).to.deep.equal([0, true]);
    expect(gate.admits({ type: 'drop', uid: 'a' }), 'lines were ignored').to.equal(false);
    expect(open(snapshot(5, 7))).to.equal(true);
    expect(gate.needsStream).to.equal(false);
    expect(open(snapshot(4, 7))).to.equal(false);
  });

  it('is nothing of a declaration that does not know what would go, or that another one has overtaken', () => {
    open(snapshot(10));
    open(snapshot(4, 7));
    expect(settle()).to.equal(false);
    expect(open(snapshot(20, 7)), 'it is not declared by time').to.equal(false);
    const before = gate.ignored!;
    open(snapshot(5, 8, { confirmed: 'd' }));
    expect(gate.settle(before, { digest: 'd', isHarmless: true })).to.equal(false);
    expect(settle()).to.equal(true);
  });

  it('is a declaration by which nothing would go', () => {
    open(snapshot(10));
    expect(open(snapshot(11, 7))).to.equal(false);
    expect([settle('d', true), gate.conditions.length, open(snapshot(12, 7))]).to.deep.equal([true, 0, true]);
  });

  it('is nothing that a server calls set back, of an agent that has seen nothing too', () => {
    expect(open(snapshot(10, 0, setBack))).to.equal(false);
    expect(settle('d', true)).to.equal(false);
    expect(open(snapshot(12, 0))).to.equal(false);
    expect([open(snapshot(12, 7)), settle('d', true), open(snapshot(12, 7))]).to.deep.equal([false, true, true]);
  });

  it('is the restore epoch that an agent finds which has seen nothing', () => {
    expect(open(snapshot(12, 7))).to.equal(true);
  });

  it('is a stream that was asked for before another server said more', () => {
    open(snapshot(10));
    gate.expectStream();
    gate.noteReply(moment(15));
    expect(gate.admits(snapshot(12))).to.equal(true);
    expect(open(snapshot(14)), 'asked for since').to.equal(false);
  });

  it('is not raised by a reply of another history', () => {
    open(snapshot(10, 7));
    for (const reply of [moment(99, 0), moment(99, 8), moment(1_000_000_010, 7), moment(9, 7)]) gate.noteReply(reply);
    expect(gate.seen).to.deep.equal(moment(10, 7));
    gate.noteReply(moment(11, 7));
    expect(gate.seen).to.deep.equal(moment(11, 7));
  });

  it('is remembered over a restart, written at most every ten seconds', async () => {
    open(snapshot(10));
    for (let revision = 11; revision < 15; revision++) gate.noteReply(moment(revision));
    expect((await load()).seen).to.deep.equal(moment(10));
    await clock.pass(10_000);
    gate.noteReply(moment(14));
    gate = await load();
    expect(gate.seen).to.deep.equal(moment(14));
    expect(open(snapshot(12))).to.equal(false);
    gate = await load();
    expect([gate.isHeld, open(snapshot(20))], 'it goes on holding').to.deep.equal([true, false]);
    open(snapshot(21, 7, { confirmed: 'd' }));
    gate = await load();
    expect(gate.isHeld, 'a restart before it was compared').to.equal(true);
    open(snapshot(21, 7, { confirmed: 'd' }));
    expect(settle()).to.equal(true);
    gate = await load();
    expect([gate.isHeld, open(snapshot(22, 7))]).to.deep.equal([false, true]);
    open(snapshot(12, 7));
    expect((await load('another tenant')).isHeld).to.equal(false);
  });

  for (const text of ['', '{}', '{"tenant":"t","seen":{}}', '[]', '{"tenant":5}']) {
    it(`begins anew where the state folder has ${text || 'nothing'}`, async () => {
      files.set('store-seen.json', text);
      gate = await load();
      expect(open(snapshot(1))).to.equal(true);
    });
  }

  it('is no answer about what is gone that was given meanwhile by a store that was set back', async () => {
    const end = new AbortController();
    const answers: (readonly string[])[] = [];
    const ask = async (ids: readonly string[]) => ids;
    void gate.findGone(['a'], ask, end.signal).then(answer => answers.push(answer));
    await clock.pass(1_000);
    expect(answers, 'not asked yet').to.deep.equal([]);
    open(snapshot(10));
    await clock.pass(1_000);
    expect(answers).to.deep.equal([['a']]);
    const late = gate.findGone(['b'], async ids => (open(snapshot(3)), ids), end.signal);
    expect(await late).to.deep.equal([]);
    void gate.findGone(['c'], ask, end.signal).then(answer => answers.push(answer));
    await clock.pass(60_000);
    expect(answers).to.have.length(1);
    end.abort();
    await clock.pass(0);
    expect(answers[1]).to.deep.equal([]);
  });
});

describe('an agent whose store was set back', () => {
  let lab: NodeLab;
  const first = replica();
  const later = replica({ uid: 'rep_2', deployment: 'shop', deploymentUid: 'dep_2' });
  const node = () => value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!);
  const declare = async () => declareRestore(lab.store, lab.clock, listConfirmed(await previewRestore(lab.store)));
  const running = ['shop running', 'web running'];

  beforeEach(async () => {
    lab = new NodeLab();
    await lab.start();
    await lab.startAgent();
    await lab.assign(first);
    await lab.clock.pass(10_000);
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const setBack = async () => {
    const backup = lab.store.save();
    await lab.assign(later);
    await lab.clock.pass(10_000);
    expect(lab.running).to.deep.equal(running);
    lab.store.restore(backup);
    await lab.clock.pass(30_000);
  };

  it('changes nothing, says so, and does what is stored once that is declared', async () => {
    await setBack();
    expect(lab.running).to.deep.equal(running);
    const condition = node().conditions?.find(({ type }) => type === 'StoreCurrent');
    expect(condition).to.include({ status: 'False', reason: 'store_set_back' });
    expect(condition?.message).to.match(/older state.*nothing is changed.*moor admin restore/);
    const volumes = { removed: [], demoted: [], discarded: [], newer: [], unknown: [] };
    const { digest, ...lists } = node().setBack!;
    expect(lists).to.deep.equal({ containers: ['shop/0'], ...volumes, secrets: [] });
    expect(digest).to.match(/^[0-9a-f]{32}$/);
    await lab.delete(keys.replica(LAB_TENANT, 'web', 0));
    await lab.clock.pass(60_000);
    expect(lab.running, 'what is changed in such a store is no order either').to.deep.equal(running);
    expect(node().setBack?.containers, 'and is told').to.deep.equal(['shop/0', 'web/0']);
    await lab.assign(first);
    await lab.clock.pass(30_000);
    await declare();
    await lab.clock.pass(30_000);
    expect(lab.running).to.deep.equal(['web running']);
    expect(node().conditions?.some(({ type }) => type === 'StoreCurrent') ?? false).to.equal(false);
    expect(node()).to.not.have.property('setBack');
  });

  it('keeps its containers going', async () => {
    await setBack();
    for (const { id } of lab.engine.containers) lab.engine.crash(id, 1);
    await lab.clock.pass(60_000);
    expect(lab.running).to.deep.equal(running);
  });

  it('changes nothing after a restart of its own, also when the store has come further by then', async () => {
    const backup = lab.store.save();
    await lab.assign(later);
    await lab.clock.pass(30_000);
    await lab.stopAgent();
    lab.store.restore(backup);
    await lab.startAgent();
    await lab.clock.pass(30_000);
    expect(lab.running).to.deep.equal(running);
    await lab.stopAgent();
    for (let round = 0; round < 40; round++) await lab.put('barrier', { round });
    await lab.startAgent();
    await lab.clock.pass(30_000);
    expect(lab.running).to.deep.equal(running);
    await declare();
    await lab.clock.pass(30_000);
    expect(lab.running).to.deep.equal(['web running']);
  });

  it('changes nothing by a declaration that was made of something else, and tells what would go', async () => {
    await setBack();
    const shown = listConfirmed(await previewRestore(lab.store));
    await lab.assign(replica({ retiringSince: 'now' }));
    await lab.clock.pass(30_000);
    await declareRestore(lab.store, lab.clock, shown);
    await lab.clock.pass(60_000);
    expect(lab.running).to.deep.equal(running);
    expect(node().conditions?.find(({ type }) => type === 'StoreCurrent')).to.include({ status: 'False' });
    await declare();
    await lab.clock.pass(30_000);
    expect(lab.running).to.deep.equal([]);
  });

  it('tells nothing of what was on its way out already', async () => {
    await lab.assign(replica({ retiringSince: 'now' }));
    const backup = lab.store.save();
    await lab.assign(later);
    await lab.clock.pass(10_000);
    await lab.assign(replica({ uid: 'rep_2', deployment: 'shop', deploymentUid: 'dep_2', retiringSince: 'now' }));
    await lab.assign(replica({ uid: 'rep_3', deployment: 'third', deploymentUid: 'dep_3' }));
    lab.latencyMs = operation => (operation === 'stop' ? 600_000 : 0);
    await lab.clock.pass(10_000);
    lab.store.restore(backup);
    await lab.clock.pass(30_000);
    expect(node().setBack?.containers).to.deep.equal(['third/0']);
  });

  it('goes on by itself when a restore is declared by which nothing would go', async () => {
    await declareRestore(lab.store, lab.clock);
    await lab.clock.pass(30_000);
    await lab.assign(later);
    await lab.clock.pass(10_000);
    expect(lab.running).to.deep.equal(running);
    expect(node().conditions?.some(({ type }) => type === 'StoreCurrent') ?? false).to.equal(false);
  });

  it('has not answered while it cannot see what it would remove', async () => {
    await lab.stopAgent();
    lab.volumes = { ...new MemoryDriver().driver, list: () => Promise.reject(new Error('the disk hangs')) };
    await lab.startAgent();
    await setBack();
    expect(node()).to.not.have.property('setBack');
    await declareRestore(lab.store, lab.clock);
    await lab.clock.pass(30_000);
    expect(lab.running).to.deep.equal(running);
  });

  it('holds before a restore that is declared before it looks', async () => {
    const backup = lab.store.save();
    await lab.assign(later);
    await lab.clock.pass(10_000);
    lab.wire.up = false;
    lab.store.restore(backup);
    await declareRestore(lab.store, lab.clock);
    await lab.clock.pass(1_000);
    lab.wire.up = true;
    await lab.clock.pass(60_000);
    expect(lab.running).to.deep.equal(running);
    await declare();
    await lab.clock.pass(60_000);
    expect(lab.running).to.deep.equal(['web running']);
  });
});
