import { setTimeout as delay } from 'node:timers/promises';

import { storeContract } from '../store.contract.js';
import type { StoreUnderTest } from '../store-under-test.testing.js';
import { EtcdLab } from './etcd-lab.testing.js';

describe('EtcdStore', function () {
  this.timeout(30_000);
  let lab: EtcdLab;
  let subject: StoreUnderTest;

  before(async () => {
    lab = await EtcdLab.start();
    subject = {
      store: lab.direct(),
      pass: async ms => {
        await delay(ms);
      },
      compact: revision => lab.compact(revision),
    };
  });

  after(() => lab.stop());

  storeContract('etcd', () => subject);
});
