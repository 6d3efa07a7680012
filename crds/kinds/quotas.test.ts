import { expect } from 'chai';

import { checkQuotaRequest, mergeQuotas, parseQuota, quotaKinds } from './index.js';

describe('quotas', () => {
  it('are the tenant’s own where there are some, and as configured otherwise', () => {
    expect(mergeQuotas({ containers: 10, nodes: 5 }, { containers: 20 })).to.deep.equal({
      containers: 20,
      nodes: 5,
    });
    expect(mergeQuotas({ containers: 10 }, { containers: null, cpu: 0 })).to.deep.equal({ cpu: 0 });
    expect(mergeQuotas({ containers: 10 })).to.deep.equal({ containers: 10 });
  });

  const amounts = [
    ['cpu', '1.5', 1500],
    ['cpu', '1e3', undefined],
    ['memory', '2Gi', 2 ** 31],
    ['volumeBytes', '1Ti', 2 ** 40],
    ['containers', '5', 5],
    ['containers', '5m', undefined],
    ['nodes', '-1', undefined],
  ] as const;
  for (const [kind, text, amount] of amounts) {
    it(`read ${kind}=${text} as ${amount}`, () => expect(parseQuota(kind, text)).to.equal(amount));
  }

  it('may be set for every kind there is, and for no other', () => {
    expect(checkQuotaRequest(Object.fromEntries(quotaKinds.map(kind => [kind, 1]))).ok).to.equal(true);
    for (const body of [{ pods: 1 }, { cpu: 1.5 }, { cpu: '1' }, { cpu: -1 }, [], null]) {
      expect(checkQuotaRequest(body).ok, JSON.stringify(body)).to.equal(false);
    }
  });
});
