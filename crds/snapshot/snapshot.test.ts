import { expect } from 'chai';

import { rejectSnapshotLookup, rejectSnapshot } from './index.js';

describe('snapshots', () => {
  it('cannot be made', () => {
    const { code, status, field } = rejectSnapshot('vol_1');
    expect([code, status, field]).to.deep.equal(['volume_snapshot_not_implemented', 501, 'volumes.vol_1.snapshots']);
  });

  it('are not to be found', () => {
    const { code, status, field } = rejectSnapshotLookup('snap_1');
    expect([code, status, field]).to.deep.equal(['volume_snapshot_not_found', 404, 'snapshots/{snap}']);
  });
});
