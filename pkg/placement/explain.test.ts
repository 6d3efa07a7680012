import { expect } from 'chai';

import { GIB, makeNode, makeNodeWith, makeWorkload } from './candidates.testing.js';
import { explainNodes, formatFreeResources } from './explain.js';
import type { Amounts, Candidate, QuotaUse } from './model.js';

const explain = (candidates: readonly Candidate[], ...quotas: readonly QuotaUse[]) =>
  explainNodes(makeWorkload({ quotas }), candidates);

describe('explainNodes', () => {
  it('says of every node why it takes no further replica, also of those that have one', () => {
    const apart = makeWorkload({ antiAffinity: [{ deployment: 'web', topologyKey: 'node', own: true }] });
    const { nodes, able } = explainNodes(apart, [makeNodeWith('a', { web: 1 }), makeNodeWith('b', { web: 1 })]);

    expect(able).to.equal(0);
    for (const { rank, verdicts, whyHere } of nodes) {
      expect([rank, verdicts.filter(({ ok }) => !ok).map(({ filter }) => filter)]).to.deep.equal([
        null,
        ['anti_affinity'],
      ]);
      expect(whyHere).to.match(/^every filter accepts it/);
    }
  });

  it('accepts the node of a replica that is replaced although the tenant’s quota is used up', () => {
    const full = [makeNodeWith('a', { web: 1 }), makeNode('b')];
    const quotas = [{ kind: 'containers', limit: 1, used: 1, asked: 1 }];
    const { nodes, able } = explainNodes(makeWorkload({ quotas }), full, 'are replaced');

    expect(able).to.equal(1);
    expect(nodes.map(({ rank, verdicts }) => [rank, verdicts.filter(({ ok }) => !ok).length])).to.deep.equal([
      [1, 0],
      [null, 1],
    ]);
    expect(nodes[0]?.whyHere).to.match(/^every filter accepts it/);
  });

  it('rejects the node of a replica when the tenant is over its quota', () => {
    const { able, nodes } = explain([makeNodeWith('a', { web: 2 })], {
      kind: 'containers',
      limit: 1,
      used: 2,
      asked: 1,
    });
    expect([able, nodes[0]?.rank]).to.deep.equal([0, null]);
  });

  it('rejects the node of a replica of a deployment beyond the quota of deployments', () => {
    const { able } = explain([makeNodeWith('a', { web: 1 })], { kind: 'deployments', limit: 1, used: 1, asked: 1 });
    expect(able).to.equal(0);
  });

  it('counts no negative siblings on a node with a retiring replica only', () => {
    const leaving = makeNode('a', { replicas: 1, replicasByDeployment: new Map([['web', { all: 1, staying: 0 }]]) });
    expect(explain([leaving]).nodes[0]?.scores.siblings).to.equal(0);
  });
});

describe('free resources of a node', () => {
  const big = makeNode('a', { capacity: { cpu: 2000, memory: 24 * GIB }, used: { cpu: 200, memory: GIB } });
  const small = makeNode('b', { capacity: { cpu: 500, memory: GIB / 2 }, used: { cpu: 700, memory: GIB / 8 + 1 } });
  const table: readonly (readonly [string, typeof big, Partial<Amounts>, string])[] = [
    ['name every requested resource', big, { cpu: 1, memory: 1 }, 'cpu 1.8 of 2, memory 23 of 24 GiB'],
    ['leave out a resource that is not requested', big, { memory: 1 }, 'memory 23 of 24 GiB'],
    ['are empty when nothing is requested', big, {}, ''],
    ['are at least 0 and rounded down', small, { cpu: 1, memory: 1 }, 'cpu 0 of 0.5, memory 383.9 of 512 MiB'],
  ];
  for (const [title, which, requests, words] of table) {
    it(title, () => {
      expect(formatFreeResources(which, requests)).to.equal(words);
    });
  }

  it('are those of now for the node of a replica', () => {
    const here = makeNodeWith('a', { web: 1 }, { used: { cpu: 500, memory: 0 } });
    const { nodes } = explainNodes(makeWorkload({ requests: { cpu: 500 } }), [here]);

    expect(nodes[0]?.whyHere).to.contain('cpu 1.5 of 2');
  });
});
