import { expect } from 'chai';

import { draftEvents } from './events.js';
import { at, decide, host, makeStatus, primary, replicated, reportReplica } from './promotion.testing.js';

describe('a drain of the node of a volume that is not served', () => {
  const hosts = [host('a', { status: 'draining' }), host('b'), host('c')];
  const copies = [reportReplica('b', 280), reportReplica('c', 290)];
  const failed = [{ ...primary('a', 1), state: 'failed' as const, message: 'mount failed: EIO' }, ...copies];
  const refused = makeStatus('Degraded', { reason: 'volume_refused', message: 'mount failed: EIO' });

  it('says that the volume is not moved, and why', () => {
    const decided = decide({ status: refused, reports: failed, hosts });
    const message = 'it is Degraded, and is moved when it is Ready: mount failed: EIO';
    expect(decided.status.move).to.include({ phase: 'Blocked', message });
    expect(draftEvents(replicated, refused, decided).map(({ type }) => type)).to.deep.equal(['volume.move_blocked']);
    const again = decide({ status: decided.status, reports: failed, hosts });
    expect(again.status, 'nothing is written again').to.equal(decided.status);
  });

  it('goes on when the volume is Ready, and says nothing where no node is drained', () => {
    const blocked = { phase: 'Blocked' as const, message: 'it is Degraded', since: at(250) };
    const reports = [primary('a', 1), ...copies];
    const { status } = decide({ status: makeStatus('Ready', { move: blocked }), reports, hosts });
    expect(status.move?.phase).to.equal('Stopping');
    expect(decide({ status: refused, reports: failed, hosts: [host('a'), ...hosts.slice(1)] }).status.move).to.equal(
      undefined,
    );
  });

  it('takes no step on the way to Ready for a cause', () => {
    const status = makeStatus('Materializing', { message: 'it is on a' });
    expect(decide({ status, reports: [primary('a', 1), ...copies], hosts }).status.move).to.equal(undefined);
  });
});
