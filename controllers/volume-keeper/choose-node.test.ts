import { expect } from 'chai';

import { defaultRegions } from '../../crds/residency/index.js';
import { chooseReplicaNodes, type ReplicaDemand, type VolumeCandidate } from './choose-node.js';

describe('the nodes of copies', () => {
  const node = (name: string, change: Partial<VolumeCandidate> = {}): VolumeCandidate => ({
    id: `node_${name}`,
    name,
    labels: { 'mooring.io/country': 'DE' },
    status: 'ready',
    controlPlane: false,
    disk: 1000,
    promised: 0,
    takesCopies: true,
    ...change,
  });
  const residency = { asked: { country: 'DE' }, regions: { enforced: true, declared: defaultRegions } };
  const cases: readonly (readonly [string, readonly VolumeCandidate[], Partial<ReplicaDemand>, string])[] = [
    [
      'those with the most room',
      [node('b', { promised: 9 }), node('c'), node('d', { promised: 5 })],
      { count: 2 },
      'c d',
    ],
    ['distinct ones', [node('b'), node('c')], { count: 3 }, 'b c; 2 of 2 nodes can hold it'],
    ['none that is taken', [node('b'), node('c')], { taken: new Set(['node_b']) }, 'c'],
    ['the one that is named', [node('b'), node('c', { promised: 9 })], { named: ['node_c'] }, 'c'],
    [
      'a named one is waited for',
      [node('b'), node('c', { status: 'failed' })],
      { named: ['node_c'] },
      '; 1 of 2 nodes can hold it: 1 not ready',
    ],
    [
      'a named one that has it is not waited for',
      [node('b'), node('c')],
      { named: ['node_c'], taken: new Set(['node_c']) },
      'b',
    ],
    ['a named one that is gone is not waited for', [node('b')], { named: ['node_z'] }, 'b'],
    ['none for none', [node('b')], { count: 0 }, ''],
    [
      'none outside the residency, without an address, of the control plane, or short of disk',
      [
        node('b', { labels: {} }),
        node('c', { takesCopies: false }),
        node('d', { controlPlane: true }),
        node('e', { promised: 901 }),
      ],
      {},
      '; 0 of 4 nodes can hold it: 1 of the control plane, 1 outside its residency, 1 with less than 100B of disk left, 1 without an address for copies (moor agent --volume-listen)',
    ],
  ];
  for (const [name, nodes, more, wanted] of cases) {
    it(name, () => {
      const demand = { volume: { type: 'volume', sizeBytes: 100 } as const, residency, platform: false };
      const choice = chooseReplicaNodes(nodes, demand, { count: 1, named: [], taken: new Set(), ...more });
      const because = choice.because === undefined ? '' : `; ${choice.because}`;
      expect(choice.nodes.map(each => each.name).join(' ') + because).to.equal(wanted);
    });
  }
});
