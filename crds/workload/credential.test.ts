import { expect } from 'chai';

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
    it(`stops ${name}`, () => {
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

  const size = 30_000;
  const baits = [
    'eyJ'.repeat(size / 3),
    'a'.repeat(size),
    '://'.repeat(size / 3),
    '://a:'.repeat(size / 5),
    '-----BEGIN '.repeat(size / 11),
  ];
  for (const bait of baits) {
    it(`is quick with ${bait.slice(0, 11)}…`, () => {
      const start = process.hrtime.bigint();
      for (let i = 0; i < 10; i += 1) isCredential(`${bait}_x`, bait);
      expect(Number(process.hrtime.bigint() - start) / 1e6).to.be.below(300);
    });
  }
});
