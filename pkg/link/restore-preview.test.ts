import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { DispatcherLab, LAB_NODE, LAB_TENANT, nodeRecord } from './dispatcher-lab.testing.js';
import { declareRestore, readConfirmed } from './restore-epoch.js';
import { hasLoss, listConfirmed, previewRestore } from './restore-preview.js';
import { provePosition } from './store-history.js';

describe('the preview of a restore', () => {
  let lab: DispatcherLab;
  beforeEach(async () => {
    lab = await new DispatcherLab().start();
  });
  afterEach(() => lab.stop());

  const ID = `vol_${'1'.repeat(26)}`;
  const seen = { revision: 5_000, restoreEpoch: 0 };
  const volumes = { removed: [], demoted: [ID], discarded: [], newer: [ID], unknown: [`vol_${'2'.repeat(26)}`] };
  const lists = { containers: ['shop/0'], ...volumes, digest: 'd'.repeat(32) };
  const beat = { labels: {}, capacity: nodeRecord.capacity, agentVersion: 'test' };
  const hold = (secrets: readonly string[] = []) => {
    const setBack = { ...lists, secrets: [...secrets], seen: provePosition(seen, lab.keyring) };
    return lab.dispatcher.heartbeat(LAB_NODE, { ...beat, setBack });
  };

  it('has what each node that holds has said, with the names of tenants and volumes that the store knows', async () => {
    await lab.put(keys.node(LAB_TENANT, 'n2'), { ...nodeRecord, id: 'node_2', name: 'n2' });
    await lab.put(keys.volume(LAB_TENANT, ID), { metadata: nodeRecord.metadata, id: ID, name: 'data' });
    await lab.put(keys.tenant(LAB_TENANT), { id: LAB_TENANT, name: 'bakery', createdAt: '', platform: false });
    await hold();
    const { setBack, nodes } = await previewRestore(lab.store);
    expect(setBack).to.include({ revision: 5_000 });
    const told = { ...lists, demoted: ['data'], newer: ['data'] };
    expect(nodes).to.deep.equal([
      { tenant: 'bakery', id: LAB_NODE.id, name: 'n1', hasAnswered: true, setBack: told, secrets: [] },
      { tenant: 'bakery', id: 'node_2', name: 'n2', hasAnswered: false, secrets: [] },
    ]);
  });

  it('names the credentials that containers have in a later version than the store, unless they are kept elsewhere', async () => {
    await lab.keep('web-db', { password: 'first' });
    await lab.keep('same', { password: 'first' });
    await hold(['deployments/gone@4', 'deployments/same@1', 'deployments/web-db@2']);
    const list = async () => (await previewRestore(lab.store)).nodes[0]!.secrets;
    const gone = { path: 'deployments/gone', given: 4, stored: 0 };
    expect(await list()).to.deep.equal([gone, { path: 'deployments/web-db', given: 2, stored: 1 }]);
    const { digest } = await previewRestore(lab.store);
    await lab.keep('web-db', { password: 'valid now' });
    expect(await list()).to.deep.equal([gone]);
    expect((await previewRestore(lab.store)).digest, 'what is shown is another thing now').to.not.equal(digest);
    const elsewhere = await previewRestore(lab.store, { secretsDriver: 'vault' });
    expect([elsewhere.hasOwnSecrets, elsewhere.nodes[0]!.secrets]).to.deep.equal([true, []]);
  });

  it('has a node answer that is heard once the store is known to be set back, and confirms what it has told', async () => {
    await lab.put(keys.node(LAB_TENANT, 'n2'), { ...nodeRecord, id: 'node_2', name: 'n2' });
    await lab.put(keys.alive(LAB_TENANT, 'n2'), { id: 'node_2', lease: 'l', since: '' });
    expect((await previewRestore(lab.store)).nodes.map(({ hasAnswered }) => hasAnswered)).to.deep.equal([false, true]);
    await hold();
    const preview = await previewRestore(lab.store);
    expect(preview.nodes.map(({ hasAnswered }) => hasAnswered)).to.deep.equal([true, false]);
    expect(preview.nodes.map(hasLoss)).to.deep.equal([true, false]);
    expect(listConfirmed(preview)).to.deep.equal({ [LAB_NODE.id]: lists.digest });
    await declareRestore(lab.store, lab.clock, listConfirmed(preview));
    await lab.cache.barrier();
    expect([LAB_NODE.id, 'node_2'].map(id => readConfirmed(lab.cache, id))).to.deep.equal([lists.digest, undefined]);
  });

  it('says nothing of a restore that was declared', async () => {
    await hold();
    await declareRestore(lab.store, lab.clock);
    await lab.dispatcher.heartbeat(LAB_NODE, beat);
    const { setBack, nodes } = await previewRestore(lab.store);
    expect(setBack).to.equal(undefined);
    expect(nodes[0]).to.include({ hasAnswered: true }).and.not.have.property('setBack');
  });

  it('has what was removed on a node and can be brought back there', async () => {
    const volumes = [{ name: `${ID}.1`, volume: 'data', bytes: 5, until: '2030-01-01T00:00:00.000Z' }];
    await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, removedVolumes: { volumes } });
    const { digest, nodes } = await previewRestore(lab.store);
    expect(nodes[0]?.removedVolumes).to.deep.equal({ volumes });
    await lab.dispatcher.heartbeat(LAB_NODE, beat);
    expect((await previewRestore(lab.store)).digest, 'it went already').to.equal(digest);
  });

  it('changes nothing', async () => {
    const before = await lab.store.revision();
    await previewRestore(lab.store);
    expect(await lab.store.revision()).to.equal(before);
  });
});
