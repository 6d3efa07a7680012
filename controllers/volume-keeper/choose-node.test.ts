import { expect } from 'chai';

import { defaultRegions } from '../../crds/residency/index.js';
import { chooseNode, chooseReplicaNodes, type ReplicaDemand, type VolumeCandidate } from './choose-node.js';

const node = (name: string, change: Partial<VolumeCandidate> = {}): VolumeCandidate => ({
  id: `node_${name}`,
  name,
  labels: { 'mooring.io/country': 'DE' },
  status: 'ready',
  controlPlane: false,
  disk: 1000,
  promised: 0,
  ...change,
});
const residency = { asked: { country: 'DE' }, regions: { enforced: true, declared: defaultRegions } };

const volume = { type: 'volume', sizeBytes: 100 } as const;

describe('the nodes of copies', () => {
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
        node('c', { noCopies: 'without an address' }),
        node('d', { controlPlane: true }),
        node('e', { promised: 901 }),
      ],
      {},
      '; 0 of 4 nodes can hold it: 1 of the control plane, 1 outside its residency, 1 with less than 100B of disk left, 1 without an address',
    ],
  ];
  for (const [name, nodes, more, wanted] of cases) {
    it(name, () => {
      const demand = { volume, residency, platform: false };
      const choice = chooseReplicaNodes(nodes, demand, { count: 1, named: [], taken: new Set(), ...more });
      const because = choice.because === undefined ? '' : `; ${choice.because}`;
      expect(choice.nodes.map(each => each.name).join(' ') + because).to.equal(wanted);
    });
  }
});

describe('the node of a volume', () => {
  const demand = { volume, platform: false };
  const cases: readonly (readonly [
    string,
    readonly VolumeCandidate[],
    Partial<Parameters<typeof chooseNode>[1]> & { readonly refusedBy?: string },
    string,
  ])[] = [
    ['the one with the most room', [node('a', { promised: 500 }), node('b')], {}, 'b'],
    ['by name among equals', [node('b'), node('a')], {}, 'a'],
    ['a disk that is known before one that is not', [node('a', { disk: 0 }), node('b')], {}, 'b'],
    ['a disk that is not known', [node('a', { disk: 0, promised: 10_000 })], {}, 'a'],
    ['the one that is named', [node('a'), node('b')], { volume: { ...volume, primaryNode: 'node_a' } }, 'a'],
    [
      'none whose engine keeps no volumes',
      [node('a', { lacks: ['volumes'] })],
      {},
      '0 of 1 node can hold it: 1 whose engine keeps no volumes',
    ],
    ['none without nodes', [], {}, 'the tenant has no nodes: enrol one'],
    ['none that is ready', [node('a', { status: 'draining' })], {}, '0 of 1 node can hold it: 1 not ready'],
    [
      'not that of the control plane',
      [node('a', { controlPlane: true })],
      {},
      '0 of 1 node can hold it: 1 of the control plane',
    ],
    ['that of the control plane for the platform', [node('a', { controlPlane: true })], { platform: true }, 'a'],
    [
      'inside the residency',
      [node('a', { labels: { 'mooring.io/country': 'US' } }), node('b', { promised: 1 })],
      { residency },
      'b',
    ],
    [
      'none outside of it',
      [node('a', { labels: {} })],
      { residency },
      '0 of 1 node can hold it: 1 outside its residency',
    ],
    [
      'none where residency is not enforced',
      [node('a')],
      { residency: { ...residency, regions: { enforced: false, declared: [] } } },
      '0 of 1 node can hold it: 1 outside its residency',
    ],
    [
      'none with too little disk',
      [node('a', { promised: 901 })],
      {},
      '0 of 1 node can hold it: 1 with less than 100B of disk left',
    ],
    ['memory needs no disk', [node('a', { promised: 1000 })], { volume: { ...volume, type: 'tmpfs' } }, 'a'],
    ['not one that refused it', [node('b', { promised: 1 }), node('a')], { refusedBy: 'node_a' }, 'b'],
    ['none that has not', [node('a')], { refusedBy: 'node_a' }, '0 of 1 node can hold it: 1 unable to provide it'],
  ];
  for (const [name, nodes, { refusedBy = '', ...more }, wanted] of cases) {
    it(`${name}`, () => {
      const choice = chooseNode(nodes, { ...demand, ...more }, new Set([refusedBy]));
      expect('node' in choice ? choice.node.name : choice.because).to.equal(wanted);
    });
  }
});
