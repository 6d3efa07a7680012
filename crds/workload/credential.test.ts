import { expect } from 'chai';

import { assertLinearCost } from '../../dev/testing/index.js';
import { credentialNames, credentialValues, innocentNames, innocentValues } from './credential.testing.js';
import { isCredential } from './credential.js';

describe('plaintext credentials', () => {
  it('is measured on a corpus of some size', () => {
    expect(new Set(innocentNames).size).to.be.at.least(200);
    expect(new Set([...credentialNames, ...credentialValues]).size).to.be.at.least(60);
  });

  for (const name of innocentNames) {
    it(`lets ${name} pass`, () => {
      expect(isCredential(name, 'some-value-42')).to.equal(false);
    });
  }

  for (const name of credentialNames) {
    it(`[2.2.22] stops ${name}`, () => {
      expect(isCredential(name, 'hunter2')).to.equal(true);
    });
  }

  for (const value of credentialValues) {
    it(`stops a value like ${value.slice(0, 14).replaceAll('\n', ' ')}…`, () => {
      expect(isCredential('SETTING', value)).to.equal(true);
      expect(isCredential('SETTING_URL', `first, "${value}"`)).to.equal(true);
    });
  }

  for (const value of innocentValues) {
    it(`lets the value ${value.slice(0, 40)} pass`, () => {
      expect(isCredential('SETTING', value)).to.equal(false);
    });
  }

  const switches: ReadonlyArray<{ name: string; variable: string; value: string; found: boolean }> = [
    { name: 'lets a name without a value pass', variable: 'DB_PASSWORD', value: '', found: false },
    { name: 'lets a switch pass', variable: 'USE_TOKEN', value: 'true', found: false },
    { name: 'stops a number under such a name', variable: 'DB_PASSWORD', value: '12345678', found: true },
    {
      name: 'lets a URL pass that only says where',
      variable: 'TOKEN_URL',
      value: 'https://id.example.com/t',
      found: false,
    },
    { name: 'stops a URL with a password', variable: 'TOKEN_URL', value: 'https://u:p@id.example.com/t', found: true },
  ];
  for (const { name, variable, value, found } of switches) {
    it(name, () => {
      expect(isCredential(variable, value)).to.equal(found);
    });
  }

  for (const unit of ['eyJ', 'a', '://', '://a:', '-----BEGIN ']) {
    it(`reads many ${unit} at a cost in proportion to their number`, () =>
      assertLinearCost({
        size: 30_000,
        prepare: length => ({
          name: `${unit.repeat(length / unit.length)}_x`,
          bait: unit.repeat(length / unit.length),
        }),
        run: ({ name, bait }) => isCredential(name, bait),
      }));
  }
});
