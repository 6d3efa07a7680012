import { expect } from 'chai';

import { toReplicaStatuses } from './replica-statuses.js';
import { orUnusable } from './unusable.js';

describe('the replicas in a status', () => {
  it('say how much of an image has arrived, while the node that pulls it sends heartbeats', () => {
    const pull = { receivedBytes: 1, totalBytes: 2 };
    const replica = { uid: 'r', slot: 0, deploymentUid: 'd', templateHash: 'h', template: { image: 'i' }, nodeId: 'n' };
    const deployment = { metadata: { uid: 'd', generation: 1 }, name: 'web', image: 'i', replicas: 1 };
    const show = (node: string) => {
      const seen = { replica, report: { state: 'pulling', health: 'none', restarts: 0, pull }, node };
      return toReplicaStatuses({ deployment, replicas: [seen], now: '2030-01-01T00:00:00.000Z' } as never)[0]!.pull;
    };
    expect(show('well')).to.deep.equal(pull);
    expect(show('failed')).to.equal(undefined);
  });

  it('carry what was written of four at most, be it of a health check or of the container itself', () => {
    const replicas = Array.from({ length: 6 }, (_, slot) => ({
      replica: { uid: `r${slot}`, slot, deploymentUid: 'd', templateHash: 'h', template: { image: 'i' }, nodeId: 'n' },
      report: {
        state: 'running',
        health: 'unhealthy',
        restarts: 0,
        failedCheck: { exitCode: 1, at: '', log: 'lines' },
      },
      node: 'well',
    }));
    const deployment = { metadata: { uid: 'd', generation: 1 }, name: 'web', image: 'i', replicas: 6 };
    const shown = toReplicaStatuses({ deployment, replicas, now: '2030-01-01T00:00:00.000Z' } as never);
    expect(shown.map(({ failedCheck }) => failedCheck?.log)).to.deep.equal([
      ...Array.from({ length: 4 }, () => 'lines'),
      undefined,
      undefined,
    ]);
  });
});

describe('the status of a record that cannot be worked with', () => {
  it('keeps the last revision that was complete', () => {
    const previous = { uid: 'd', revision: 7, conditions: [] };
    const given = { deployment: { metadata: { uid: 'd', generation: 9 } }, previous, now: '' } as never;
    expect(orUnusable(() => expect.fail('unusable'), given).status.revision).to.equal(7);
  });
});
