import { expect } from 'chai';

import type { NodePreview } from '../link/index.js';
import { renderPreview } from './render-preview.js';

const none = {
  containers: [],
  removed: [],
  demoted: [],
  discarded: [],
  newer: [],
  unknown: [],
  digest: '0'.repeat(32),
};
const node = (name: string, of: Partial<NodePreview> = {}): NodePreview => ({
  tenant: 't',
  id: `node_${name}`,
  name,
  hasAnswered: true,
  secrets: [],
  ...of,
});
const digest = '0123456789abcdef';

describe('moor admin restore --preview', () => {
  it('lists per node what would go, what is newer there and what is lost of secrets, and how just that is declared', () => {
    const setBack = { revision: 90, found: 40, restoreEpoch: 0, at: '2030-01-01T00:00:00.000Z' };
    const told = {
      ...none,
      containers: ['web/0', 'web/1'],
      removed: ['old'],
      demoted: ['former'],
      discarded: ['spare'],
      newer: ['data'],
      unknown: ['later'],
      more: 3,
    };
    const gone = { name: 'vol_1.1', bytes: 1, until: '2030-01-02T00:00:00.000Z' };
    const secrets = [
      { path: 'deployments/db', given: 3, stored: 2 },
      { path: 'deployments/new', given: 1, stored: 0 },
    ];
    const text = renderPreview({
      setBack,
      nodes: [
        node('n1', { setBack: told, secrets }),
        node('n2', { setBack: none }),
        node('n3', { hasAnswered: false }),
        node('n4', { removedVolumes: { volumes: [gone, { ...gone, volume: 'old' }], more: 2 } }),
      ],
      digest,
    });
    expect(
      text,
    ).to.equal(`etcd was set back: it is known to have been at revision 90, and was found at 40 (2030-01-01T00:00:00.000Z).
node n1 (tenant t):
  containers that would be removed or replaced: web/0, web/1
  volumes whose bytes would be removed: old
  volumes that become a copy there (what it holds of them would be set aside): former
  volumes of which what was set aside earlier would be removed: spare
  volumes that are newer there than etcd knows (they stay, and nothing may use them): data
  volumes that etcd does not have there (their bytes stay on the disk, and nothing uses them): later
  credentials of which containers there have a later version: deployments/db (version 3, etcd has 2), deployments/new (version 1, etcd has none)
  and 3 more, which a declaration covers too
node n2 (tenant t): nothing would go
node n3 (tenant t): has not answered
node n4 (tenant t): does not hold, and does what etcd says
  removed volumes that can be brought back there: vol_1.1, old (vol_1.1), and 2 more
Credentials that were written after the backup are lost in etcd: containers there still have them, and those that replace them get what
etcd has. Write the values that are valid now before you declare it: "moor secrets write", then "moor restart" what uses them.
What would go on n3 is not known: wait until every agent has answered. Or leave nodes out with --without: they go on holding when they are back, until it is declared again with what they have reported.
Nothing was declared. To declare just this: moor admin restore --confirm 0123456789abcdef --without n3
`);
  });

  it('says where nothing newer was seen, and where secrets are not in etcd', () => {
    const text = renderPreview({ nodes: [], hasOwnSecrets: true, digest });
    expect(text).to.match(/^No newer state of etcd[^]*Secrets are kept outside of etcd: none of them was set back\./);
  });
});
