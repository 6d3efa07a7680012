import { expect } from 'chai';

import { quotaKinds } from '../../crds/kinds/index.js';
import { formatQuota } from '../../crds/kinds/quotas.js';
import { listQuotas } from './quotas.js';

describe('quotas on their page', () => {
  it('are shown the fullest first, with those that have no limit last', () => {
    const rows = listQuotas({
      quotas: {
        jobs: { limit: null, used: 3, set: 'configuration' },
        nodes: { limit: 4, used: 1, set: 'configuration' },
        memory: { limit: 2 ** 30, used: 2 ** 30, set: 'tenant' },
        backups: { limit: 0, used: 0, set: 'tenant' },
      },
    });
    expect(rows.map(({ name, percent }) => [name, percent])).to.deep.equal([
      ['backups', 100],
      ['memory', 100],
      ['nodes', 25],
      ['jobs', undefined],
    ]);
    expect(rows[1]).to.include({ used: '1GiB', limit: '1GiB', setBy: 'the platform, for this tenant' });
    expect(rows[3]!.limit).to.equal('none');
  });

  for (const [millis, text] of [
    [0, '0 cores'],
    [500, '0.5 cores'],
    [1000, '1 core'],
    [2000, '2 cores'],
  ] as const) {
    it(`say ${text} of the quota of cpu`, () => {
      const [row] = listQuotas({ quotas: { cpu: { limit: millis, used: 0, set: '' } } });
      expect(row!.limit).to.equal(text);
    });
  }

  it('have the units that the command line shows them in', () => {
    for (const name of quotaKinds) {
      const [row] = listQuotas({ quotas: { [name]: { limit: null, used: 1_610_612_736, set: '' } } });
      expect(row!.used.replace(' cores', ''), name).to.equal(formatQuota(name, 1_610_612_736));
    }
  });
});
