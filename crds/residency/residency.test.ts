import { expect } from 'chai';

import {
  defaultRegions,
  isCountry,
  isResidencyLabel,
  type Residency,
  renderResidencyLabels,
  parseResidencyLabels,
  checkResidency,
} from './index.js';

const regions = { enforced: true, declared: defaultRegions };
const country = (code: string) => ({ 'mooring.io/country': code });
const region = (name: string) => ({ 'mooring.io/geo-region': name });

describe('a node and a residency', () => {
  const cases: ReadonlyArray<{ residency: Residency; node: Record<string, string>; refused: string[] }> = [
    { residency: {}, node: {}, refused: [] },
    { residency: { country: 'DE' }, node: country('DE'), refused: [] },
    { residency: { country: 'DE' }, node: country('FR'), refused: ['country'] }, // [2.7.4]
    { residency: { country: 'DE' }, node: {}, refused: ['country'] },
    { residency: { country: 'DE' }, node: region('eu'), refused: ['country'] },
    { residency: { region: 'eu' }, node: region('eu'), refused: [] }, // [2.7.5]
    { residency: { region: 'eu' }, node: country('FR'), refused: [] }, // [2.7.6]
    { residency: { region: 'eu' }, node: country('NO'), refused: ['region'] },
    { residency: { region: 'eea' }, node: country('NO'), refused: [] },
    { residency: { region: 'uk' }, node: country('GB'), refused: [] },
    { residency: { region: 'mars' }, node: country('DE'), refused: ['region'] },
    { residency: { blockedCountries: ['US'] }, node: country('DE'), refused: [] },
    { residency: { blockedCountries: ['US'] }, node: country('US'), refused: ['blockedCountries'] },
    { residency: { blockedCountries: ['US'] }, node: {}, refused: ['blockedCountries'] },
    { residency: { country: 'DE', region: 'us' }, node: country('FR'), refused: ['country', 'region'] },
  ];
  for (const { residency, node, refused } of cases) {
    it(`${JSON.stringify(residency)} on ${JSON.stringify(node)}`, () => {
      expect(checkResidency(residency, node, regions).map(({ part }) => part)).to.deep.equal(refused);
    });
  }

  it('[6.3] quotes both what is required and what is reported', () => {
    expect(checkResidency({ country: 'DE' }, country('FR'), regions)).to.deep.equal([
      { part: 'country', required: 'DE', reported: 'FR' },
    ]);
  });
});

describe('the labels of a residency', () => {
  const block: Residency = { country: 'DE', region: 'eu', blockedCountries: ['US', 'CN'] };

  it('[2.7.3] say the same as the block', () => {
    expect(renderResidencyLabels(block)).to.deep.equal({
      'mooring.io/data-residency-country': 'DE',
      'mooring.io/data-residency-region': 'eu',
      'mooring.io/blocked-countries': 'US,CN',
    });
    expect(parseResidencyLabels(renderResidencyLabels(block))).to.deep.equal(block);
    expect(renderResidencyLabels({ blockedCountries: [] })).to.deep.equal({});
  });

  it('[2.7.8] are known in any case, and others are not', () => {
    for (const key of Object.keys(renderResidencyLabels(block)))
      expect(isResidencyLabel(key.toUpperCase())).to.equal(true);
    expect(isResidencyLabel('mooring.io/country')).to.equal(false);
  });
});

describe('countries', () => {
  it('are the 249 of ISO 3166-1', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
    expect(letters.flatMap(a => letters.map(b => a + b)).filter(isCountry)).to.have.length(249);
  });

  it('are known for every region', () => {
    expect(defaultRegions.flatMap(({ countries }) => countries).filter(code => !isCountry(code))).to.deep.equal([]);
  });
});
