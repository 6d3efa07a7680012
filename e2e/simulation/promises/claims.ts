import { expect } from 'chai';

import { keys, ranges, splitKey } from '../../../crds/keys/index.js';
import type { NodeNameRecord, StoredNode } from '../../../crds/node/index.js';
import type { Invariant } from '../history.js';

const NODE_NAMES = 'node-names/';
const MOST_CLAIMS = 2;

/** A machine is the node of one tenant at most, the one whose claim is the oldest, and nobody claims it twice. */
export const keepsClaims: Invariant = (changes, chronicle) => {
  const touched = changes.filter(({ key }) => key.startsWith(ranges.nodes) || key.startsWith(NODE_NAMES));
  for (const name of new Set(touched.map(({ key }) => splitKey(key).at(-1)!))) {
    const { claims = [] } = chronicle.get<NodeNameRecord>(keys.nodeName(name)) ?? {};
    const claimants = claims.map(({ tenant }) => tenant);
    expect(new Set(claimants).size, `${name} is claimed twice by one`).to.equal(claimants.length);
    expect(claimants.length, `claims to ${name}`).to.be.at.most(MOST_CLAIMS);
    const nodes = chronicle.all<StoredNode>(ranges.nodes).filter(node => node.name === name);
    for (const { metadata } of nodes) {
      expect(metadata.tenant, `${name} is the node of one who has no claim to it`).to.equal(claimants[0]);
    }
    expect(nodes.length, `${name} is a node of several`).to.be.at.most(1);
  }
};
