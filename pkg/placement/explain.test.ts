import { expect } from 'chai';

import { inhabited, node, workload } from './candidates.fixture.js';
import { explainPlacement } from './explain.js';
import { filters } from './filters/index.js';
import type { Candidate } from './candidate.js';
import type { QuotaUse } from './workload.js';

const explain = (candidates: readonly Candidate[], ...quotas: readonly QuotaUse[]) =>
  explainPlacement(workload({ quotas }), candidates, filters);

describe('explaining where replicas are', () => {
  it('lets them be where they are though the tenant has all that it may have', () => {
    const full = [inhabited('a', { web: 1 }), node('b')];
    const { nodes, able } = explain(full, { kind: 'containers', limit: 1, used: 1, asked: 1 });

    expect(able).to.equal(1);
    expect(nodes.map(({ rank, verdicts }) => [rank, verdicts.filter(({ ok }) => !ok).length])).to.deep.equal([
      [1, 0],
      [null, 1],
    ]);
    expect(nodes[0]?.whyHere).to.match(/^every filter lets it/);
  });

  it('says so when the tenant has more than it may have by now', () => {
    const { able, nodes } = explain([inhabited('a', { web: 2 })], {
      kind: 'containers',
      limit: 1,
      used: 2,
      asked: 1,
    });
    expect([able, nodes[0]?.rank]).to.deep.equal([0, null]);
  });

  it('does not count a deployment too many as one less for its replicas', () => {
    const { able } = explain([inhabited('a', { web: 1 })], { kind: 'deployments', limit: 1, used: 1, asked: 1 });
    expect(able).to.equal(0);
  });

  it('never counts fewer replicas than none on a node that one is leaving', () => {
    const leaving = node('a', { replicas: 1, residents: new Map([['web', { all: 1, staying: 0 }]]) });
    expect(explain([leaving]).nodes[0]?.scores.siblings).to.equal(0);
  });
});
