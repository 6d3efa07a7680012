import { expect } from 'chai';

import { defaultQuotas } from '../../crds/kinds/index.js';
import { defaultRegions } from '../../crds/residency/index.js';
import { parseQuotaSettings, parseRegionSettings, InvalidSettingFault, loadSettings } from './settings.js';

const settings = (environment: Readonly<Record<string, string>> = {}) => loadSettings({ environment }).settings;

describe('declared regions', () => {
  it('are those of the default settings', () => {
    expect(parseRegionSettings(settings())).to.deep.equal({ enforced: true, declared: defaultRegions });
  });

  it('are read from text, with countries in capitals', () => {
    const given = settings({ MOORING_REGIONS: 'alps=ch|AT,uk=GB', MOORING_RESIDENCY_ENFORCEMENT: 'false' });
    expect(parseRegionSettings(given)).to.deep.equal({
      enforced: false,
      declared: [
        { name: 'alps', countries: ['CH', 'AT'] },
        { name: 'uk', countries: ['GB'] },
      ],
    });
  });

  for (const text of ['eu', 'eu=', 'eu=DE|UK', 'EU=DE', 'eu=DE|', '=DE', 'eu=DE=FR']) {
    it(`refuse ${text}`, () => {
      expect(() => parseRegionSettings(settings({ MOORING_REGIONS: text }))).to.throw(InvalidSettingFault);
    });
  }
});

describe('declared quotas', () => {
  it('are those of the contract by default', () => {
    expect(parseQuotaSettings(settings())).to.deep.equal(defaultQuotas);
  });

  it('are read in the units of each kind', () => {
    const given = settings({ MOORING_QUOTAS: 'containers=5,cpu=1.5,memory=2Gi' });
    expect(parseQuotaSettings(given)).to.deep.include({ containers: 5, cpu: 1500, memory: 2 * 2 ** 30 });
  });

  for (const text of ['containers', 'containers=many', 'pods=5', 'cpu=-1', 'toString=1']) {
    it(`refuse ${text}`, () => {
      expect(() => parseQuotaSettings(settings({ MOORING_QUOTAS: text }))).to.throw(InvalidSettingFault);
    });
  }
});
