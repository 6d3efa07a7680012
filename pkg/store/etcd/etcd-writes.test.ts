import { expect } from 'chai';

import { systemClock, systemRandom } from '../../clock/index.js';
import { OutcomeUnknownFault, StoreUnavailableFault } from '../faults.js';
import type { Change } from '../store.js';
import type { EtcdClient } from './etcd-client.js';
import type { EtcdReads } from './etcd-reads.js';
import { EtcdWrites } from './etcd-writes.js';
import { ExhaustedFault } from './grpc.js';

const SEEN = 7;
const change: Change = { guards: [{ key: 'a', at: 0 }], puts: [{ key: 'a', bytes: Buffer.from('{}') }], deletes: [] };

/** Writes to an etcd that is full and counts what is nested in a transaction, so that it takes no mark either. */
function commitToFull(revisionAfterwards: number): Promise<unknown> {
  const client = { callOnce: () => Promise.reject(new ExhaustedFault('etcd: database space exceeded')) };
  const reads = {
    seen: SEEN,
    saw: () => undefined,
    revision: async () => revisionAfterwards,
    entry: async () => undefined,
  };
  const writes = new EtcdWrites({
    client: client as unknown as EtcdClient,
    reads: reads as unknown as EtcdReads,
    root: '/mooring/',
    clock: systemClock,
    random: systemRandom,
    settleWithinMs: 200,
    grant: () => Promise.reject(new StoreUnavailableFault('no lease is given')),
    history: () => Promise.reject(new StoreUnavailableFault('nothing ends the history')),
  });
  return writes.commit(change).catch((thrown: unknown) => thrown);
}

describe('writes to an etcd that is full and takes nothing at all', () => {
  it('are certain not to be stored when nothing has happened since', async () => {
    const fault = await commitToFull(SEEN);
    expect(fault).to.be.instanceOf(StoreUnavailableFault);
    expect((fault as Error).message).to.match(/^etcd takes no more data: /);
  });

  it('are of unknown outcome when something has, and what it was cannot be read', async () => {
    expect(await commitToFull(SEEN + 1)).to.be.instanceOf(OutcomeUnknownFault);
  });
});
