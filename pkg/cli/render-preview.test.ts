import { expect } from 'chai';

import { renderPreview } from './render-preview.js';

const none = { containers: [], newer: [], removed: [], unknown: [] };

describe('moor admin restore --preview', () => {
  it('lists per node what would be removed, set aside and is newer there, and that nothing was declared', () => {
    const setBack = { revision: 90, found: 40, restoreEpoch: 0, at: '2030-01-01T00:00:00.000Z' };
    const told = { containers: ['web/0', 'web/1'], newer: ['data'], removed: ['old'], unknown: ['later'], more: 3 };
    const gone = { name: 'vol_1.1', bytes: 1, until: '2030-01-02T00:00:00.000Z' };
    const text = renderPreview({
      setBack,
      nodes: [
        { tenant: 't', name: 'n1', isPresent: true, setBack: told },
        { tenant: 't', name: 'n2', isPresent: true, setBack: none },
        { tenant: 't', name: 'n3', isPresent: false },
        {
          tenant: 't',
          name: 'n4',
          isPresent: true,
          removedVolumes: { volumes: [{ ...gone, volume: 'data' }, gone], more: 2 },
        },
      ],
    });
    expect(
      text,
    ).to.equal(`etcd was set back: it is known to have been at revision 90, and was found at 40 (2030-01-01T00:00:00.000Z).
node n1 (tenant t):
  containers that would be removed or replaced: web/0, web/1
  volumes whose bytes would be removed: old
  volumes that are newer there than etcd knows (they stay, and nothing may use them): data
  volumes that etcd does not have there (their bytes stay on the disk, and nothing uses them): later
  and 3 more
node n2 (tenant t): nothing would go
node n3 (tenant t): sends no heartbeats
node n4 (tenant t): does not hold, and does what etcd says
  removed volumes that can be brought back there: data (vol_1.1), vol_1.1, and 2 more
What 1 node would remove is not known: wait until its agent is heard.
Nothing was declared. To declare it: moor admin restore
`);
  });

  it('says where nothing newer was seen', () => {
    expect(renderPreview({ nodes: [] })).to.match(/^Nobody has seen a newer state/);
  });
});
