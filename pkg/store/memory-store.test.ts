import { ManualClock } from '../clock/manual-clock.testing.js';
import { MemoryStore } from './memory-store.js';
import { storeContract } from './store.contract.js';
import type { StoreUnderTest } from './store.testing.js';

describe('MemoryStore', () => {
  let subject: StoreUnderTest;

  before(() => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    subject = {
      store,
      pass: ms => clock.pass(ms),
      compact: async revision => store.compact(revision),
    };
  });

  storeContract('memory', () => subject);
});
