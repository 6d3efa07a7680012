import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { value } from '../store/index.js';
import type { AssignmentLine, Heartbeat } from './agent-link.js';
import { DispatcherLab, LAB_NODE, nodeRecord } from './dispatcher-lab.testing.js';
import { declareRestore } from './restore-epoch.js';
import { isSetBack, type ProvenPosition, provePosition, type SetBackRecord, wasSetBack } from './store-history.js';

describe('a store', () => {
  const cases: readonly (readonly [
    what: string,
    seen: readonly number[],
    shown: readonly number[],
    isOlder: boolean,
  ])[] = [
    ['that goes on is not older', [100, 0], [101, 0], false],
    ['that stands still is not older', [100, 0], [100, 0], false],
    ['with a lower revision is older', [100, 0], [99, 0], true],
    ['whose restore was declared is the truth', [100, 0], [40, 7], false],
    ['that does not know of a restore any more is older', [100, 7], [400, 0], true],
    ['whose revision was raised by a restore is older', [100, 0], [1_000_000_090, 0], true],
    ['whose revision was raised, and that was declared, is the truth', [100, 0], [1_000_000_090, 7], false],
    ['that has written much meanwhile is not older', [100, 0], [500_000_000, 0], false],
  ];
  for (const [what, [revision = 0, restoreEpoch = 0], [now = 0, epoch = 0], isOlder] of cases) {
    it(what, () => {
      expect(wasSetBack({ revision, restoreEpoch }, { revision: now, restoreEpoch: epoch })).to.equal(isOlder);
    });
  }
});

describe('a store that was set back', () => {
  let lab: DispatcherLab;
  beforeEach(async () => {
    lab = await new DispatcherLab().start();
    await lab.dispatcher.heartbeat(LAB_NODE, beat);
  });
  afterEach(() => lab.stop());

  const beat: Heartbeat = { labels: {}, capacity: nodeRecord.capacity, agentVersion: 'test' };
  const volumes = { removed: [], demoted: [], discarded: [], newer: [], unknown: [] };
  const lists = { containers: ['web/0'], ...volumes, secrets: [], digest: 'd'.repeat(32) };
  const claim = async (seen: ProvenPosition) => {
    await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, setBack: { ...lists, seen } });
  };
  const record = () => {
    const entry = lab.cache.get(keys.setBack());
    return entry && value<SetBackRecord>(entry);
  };
  const follow = async () => {
    const lines: AssignmentLine[] = [];
    const end = { isRefused: false };
    const close = lab.dispatcher.assignments(
      LAB_NODE,
      line => lines.push(line),
      () => (end.isRefused = true),
    );
    await lab.clock.pass(100);
    return { lines, end, close };
  };

  it('is noted once by the server that has shown more, which ends its streams before it tells the differences', async () => {
    const backup = lab.store.save();
    await lab.put(keys.node(LAB_NODE.tenant, LAB_NODE.name), { ...nodeRecord, labels: { zone: 'b' } });
    const { lines, end } = await follow();
    const { revision } = lab.cache;
    lab.store.restore(backup);
    await lab.clock.pass(1_000);
    expect(end.isRefused).to.equal(true);
    expect(
      lines.map(({ type }) => type),
      'nothing after the snapshot',
    ).to.deep.equal(['snapshot']);
    expect(record()).to.include({ revision, restoreEpoch: 0 });
    expect((await follow()).lines[0]).to.include({ type: 'snapshot', isSetBack: true });
  });

  it('is noted when an agent proves a later revision, and not when it claims one', async () => {
    const seen = { revision: 5_000, restoreEpoch: 0 };
    await claim({ ...seen, proof: '0'.repeat(64) });
    await claim({ ...provePosition({ ...seen, revision: 4_000 }, lab.keyring), revision: 5_000 });
    expect(record()).to.equal(undefined);
    await claim(provePosition({ revision: 1, restoreEpoch: 0 }, lab.keyring));
    expect(record(), 'of what every store has been').to.equal(undefined);
    await claim(provePosition(seen, lab.keyring));
    expect(record()).to.include({ revision: 5_000 });
    const before = await lab.store.revision();
    await claim(provePosition(seen, lab.keyring));
    expect(await lab.store.revision(), 'once').to.equal(before);
  });

  it('has agents hold that come later, until it is declared', async () => {
    const { lines } = await follow();
    await claim(provePosition({ revision: 5_000, restoreEpoch: 0 }, lab.keyring));
    await lab.clock.pass(100);
    expect(lines.at(-1)).to.include({ type: 'snapshot', isSetBack: true });
    expect(isSetBack(lab.cache)).to.equal(true);
    await declareRestore(lab.store, lab.clock);
    await lab.clock.pass(100);
    expect(lines.at(-1)).to.include({ type: 'snapshot' }).and.not.have.property('isSetBack');
    expect(isSetBack(lab.cache)).to.equal(false);
  });

  it('calls no node and no deployment gone', async () => {
    const ask = async () => [
      await lab.dispatcher.findGoneNodes(LAB_NODE, ['node_9']),
      await lab.dispatcher.findGoneDeployments(LAB_NODE, ['dep_9']),
    ];
    expect(await ask()).to.deep.equal([['node_9'], ['dep_9']]);
    await claim(provePosition({ revision: 5_000, restoreEpoch: 0 }, lab.keyring));
    expect(await ask()).to.deep.equal([[], []]);
  });

  it('is shown with each node, without what its agent has seen, while that holds', async () => {
    const shown = () => lab.cache.get(keys.node(LAB_NODE.tenant, LAB_NODE.name));
    await claim(provePosition({ revision: 5_000, restoreEpoch: 0 }, lab.keyring));
    expect(value<object>(shown()!)).to.deep.include({ setBack: lists });
    await lab.dispatcher.heartbeat(LAB_NODE, beat);
    expect(value<object>(shown()!)).to.not.have.property('setBack');
  });
});
