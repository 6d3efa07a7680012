import { expect } from 'chai';

import { keys } from '../crds/keys/index.js';
import type { StoredEvent } from '../crds/event/index.js';
import { BrokenInvariantFault } from '../pkg/fault/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { done, type Loop, type LoopEnv } from '../pkg/reconcile/index.js';
import { encode, Entry, StoreUnavailableFault } from '../pkg/store/index.js';
import { reportUnusable } from './report-unusable.js';
import { makeDeployment, TENANT } from './test-cluster.testing.js';

const KEY = `${TENANT}/web`;

describe('a loop that fails on a deployment', () => {
  let events: Pick<StoredEvent, 'subject' | 'reason' | 'message'>[];
  let failure: Error | undefined;
  let stored: boolean;

  beforeEach(() => {
    events = [];
    failure = undefined;
    stored = true;
  });

  const entry = new Entry(keys.deployment(TENANT, 'web'), encode(makeDeployment()));
  const env = {
    log: silentLogger,
    cache: { get: (key: string) => (stored && key === entry.key ? entry : undefined) },
    events: { put: async (event: StoredEvent) => (events.push(event), { key: 'events/e1', bytes: encode(event) }) },
    commit: async () => undefined,
  } as unknown as LoopEnv;
  const loop: Loop = {
    name: 'tester',
    wakes: [],
    reconcile: async () => {
      if (failure) throw failure;
      return done;
    },
  };
  const outcomes = async (wrapped: Loop, times: number): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (let time = 0; time < times; time++) {
      seen.push(
        await wrapped.reconcile(KEY, env, new AbortController().signal).then(
          ({ kind }) => kind,
          () => 'thrown',
        ),
      );
    }
    return seen;
  };

  it('reports a fault that no retry can fix once, and looks at it again later', async () => {
    failure = new BrokenInvariantFault('the record is broken');
    expect(await outcomes(reportUnusable(loop), 4)).to.deep.equal(['again', 'again', 'again', 'again']);
    expect(events).to.have.length(1);
    expect(events[0]?.subject).to.deep.equal({ kind: 'Deployment', name: 'web', id: makeDeployment().metadata.uid });
    expect(events[0]?.message).to.contain('the record is broken');
  });

  it('leaves any other failure to the retries of the runtime, and reports it when it lasts', async () => {
    failure = new TypeError('x is not iterable');
    const wrapped = reportUnusable(loop);
    expect(await outcomes(wrapped, 2)).to.deep.equal(['thrown', 'thrown']);
    expect(events).to.deep.equal([]);
    await outcomes(wrapped, 5);
    expect(events).to.have.length(1);
  });

  it('reports anew after it worked, and for another cause', async () => {
    const wrapped = reportUnusable(loop);
    failure = new BrokenInvariantFault('one');
    await outcomes(wrapped, 1);
    failure = new BrokenInvariantFault('two');
    await outcomes(wrapped, 1);
    failure = undefined;
    await outcomes(wrapped, 1);
    failure = new BrokenInvariantFault('two');
    await outcomes(wrapped, 1);
    expect(events).to.have.length(3);
  });

  it('says nothing of a fault that a retry may fix, nor of a deployment that is gone', async () => {
    failure = new StoreUnavailableFault('etcd cannot be reached');
    expect(await outcomes(reportUnusable(loop), 5)).to.deep.equal(Array.from({ length: 5 }, () => 'thrown'));
    stored = false;
    failure = new BrokenInvariantFault('the record is broken');
    await outcomes(reportUnusable(loop), 2);
    expect(events).to.deep.equal([]);
  });
});
