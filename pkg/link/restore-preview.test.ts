import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { DispatcherLab, LAB_NODE, LAB_TENANT, nodeRecord } from './dispatcher-lab.testing.js';
import { declareRestore } from './restore-epoch.js';
import { previewRestore } from './restore-preview.js';
import { proveMoment } from './store-history.js';

describe('the preview of a restore', () => {
  let lab: DispatcherLab;
  beforeEach(async () => {
    lab = await new DispatcherLab().start();
  });
  afterEach(() => lab.stop());

  const ID = `vol_${'1'.repeat(26)}`;
  const seen = { revision: 5_000, restoreEpoch: 0 };
  const lists = { containers: ['shop/0'], newer: [ID], removed: [], unknown: [`vol_${'2'.repeat(26)}`] };
  const beat = { labels: {}, capacity: nodeRecord.capacity, agentVersion: 'test' };
  const hold = () =>
    lab.dispatcher.heartbeat(LAB_NODE, { ...beat, setBack: { ...lists, seen: proveMoment(seen, lab.keyring) } });

  it('has what each node that holds has said, with the names of tenants and volumes that the store knows', async () => {
    await lab.put(keys.node(LAB_TENANT, 'n2'), { ...nodeRecord, id: 'node_2', name: 'n2' });
    await lab.put(keys.volume(LAB_TENANT, ID), { metadata: nodeRecord.metadata, id: ID, name: 'data' });
    await lab.put(keys.tenant(LAB_TENANT), { id: LAB_TENANT, name: 'bakery', createdAt: '', platform: false });
    await hold();
    const { setBack, nodes } = await previewRestore(lab.store);
    expect(setBack).to.include({ revision: 5_000 });
    expect(nodes).to.deep.equal([
      { tenant: 'bakery', name: 'n1', isPresent: true, setBack: { ...lists, newer: ['data'] } },
      { tenant: 'bakery', name: 'n2', isPresent: false },
    ]);
  });

  it('says nothing of a restore that was declared', async () => {
    await hold();
    await declareRestore(lab.store, lab.clock);
    await lab.dispatcher.heartbeat(LAB_NODE, beat);
    expect(await previewRestore(lab.store)).to.deep.equal({
      nodes: [{ tenant: LAB_TENANT, name: 'n1', isPresent: true }],
    });
  });

  it('has what was removed on a node and can be brought back there', async () => {
    const volumes = [{ name: `${ID}.1`, volume: 'data', bytes: 5, until: '2030-01-01T00:00:00.000Z' }];
    await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, removedVolumes: { volumes } });
    expect((await previewRestore(lab.store)).nodes).to.deep.equal([
      { tenant: LAB_TENANT, name: 'n1', isPresent: true, removedVolumes: { volumes } },
    ]);
  });

  it('changes nothing', async () => {
    const before = await lab.store.revision();
    await previewRestore(lab.store);
    expect(await lab.store.revision()).to.equal(before);
  });
});
