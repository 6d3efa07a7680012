import { expect } from 'chai';

import { GIB, makeNode, makeNodeWith, makeWorkload } from './candidates.testing.js';
import { explainNodes, formatFreeResources } from './explain.js';
import { filters } from './filters.js';
import type { Amounts, Candidate, QuotaUse } from './model.js';

const explain = (candidates: readonly Candidate[], ...quotas: readonly QuotaUse[]) =>
  explainNodes(makeWorkload({ quotas }), candidates, filters);

describe('explaining where replicas are', () => {
  it('lets them be where they are though the tenant has all that it may have', () => {
    const full = [makeNodeWith('a', { web: 1 }), makeNode('b')];
    const { nodes, able } = explain(full, { kind: 'containers', limit: 1, used: 1, asked: 1 });

    expect(able).to.equal(1);
    expect(nodes.map(({ rank, verdicts }) => [rank, verdicts.filter(({ ok }) => !ok).length])).to.deep.equal([
      [1, 0],
      [null, 1],
    ]);
    expect(nodes[0]?.whyHere).to.match(/^every filter accepts it/);
  });

  it('says so when the tenant has more than it may have by now', () => {
    const { able, nodes } = explain([makeNodeWith('a', { web: 2 })], {
      kind: 'containers',
      limit: 1,
      used: 2,
      asked: 1,
    });
    expect([able, nodes[0]?.rank]).to.deep.equal([0, null]);
  });

  it('does not count a deployment too many as one less for its replicas', () => {
    const { able } = explain([makeNodeWith('a', { web: 1 })], { kind: 'deployments', limit: 1, used: 1, asked: 1 });
    expect(able).to.equal(0);
  });

  it('never counts fewer replicas than none on a node that one is leaving', () => {
    const leaving = makeNode('a', { replicas: 1, replicasByDeployment: new Map([['web', { all: 1, staying: 0 }]]) });
    expect(explain([leaving]).nodes[0]?.scores.siblings).to.equal(0);
  });
});

describe('what is free on a node, in words', () => {
  const big = makeNode('a', { capacity: { cpu: 2000, memory: 24 * GIB }, used: { cpu: 200, memory: GIB } });
  const small = makeNode('b', { capacity: { cpu: 500, memory: GIB / 2 }, used: { cpu: 700, memory: GIB / 8 + 1 } });
  const table: readonly (readonly [string, typeof big, Partial<Amounts>, string])[] = [
    ['every kind that is requested', big, { cpu: 1, memory: 1 }, 'cpu 1.8 of 2, memory 23 of 24 GiB'],
    ['no kind that is not', big, { memory: 1 }, 'memory 23 of 24 GiB'],
    ['nothing where nothing is', big, {}, ''],
    [
      'never less than nothing, nor more than there is',
      small,
      { cpu: 1, memory: 1 },
      'cpu 0 of 0.5, memory 383.9 of 512 MiB',
    ],
  ];
  for (const [title, which, requests, words] of table) {
    it(`names ${title}`, () => {
      expect(formatFreeResources(which, requests)).to.equal(words);
    });
  }

  it('says why a replica is where it is, without its own request', () => {
    const here = makeNodeWith('a', { web: 1 }, { used: { cpu: 500, memory: 0 } });
    const { nodes } = explainNodes(makeWorkload({ requests: { cpu: 500 } }), [here], []);

    expect(nodes[0]?.whyHere).to.contain('cpu 2 of 2');
  });
});
