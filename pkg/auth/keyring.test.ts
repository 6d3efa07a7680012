import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemRandom } from '../clock/index.js';
import { ExposedKeyFileFault, Keyring, loadKeys, openKeyring, UnusableKeyFileFault } from './keyring.js';

describe('key file', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-keys-'));
    path = join(folder, 'deep', 'keys');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is created once, readable by its owner only', () => {
    const digest = openKeyring(path, systemRandom).digest('x');

    expect(statSync(path).mode & 0o777).to.equal(0o600);
    expect(openKeyring(path, systemRandom).digest('x')).to.equal(digest);
    expect(readdirSync(join(folder, 'deep'))).to.deep.equal(['keys']);
  });

  for (const mode of [0o640, 0o604, 0o660]) {
    it(`is refused with mode ${mode.toString(8)}`, () => {
      openKeyring(path, systemRandom);
      chmodSync(path, mode);

      expect(() => new Keyring(loadKeys(path))).to.throw(ExposedKeyFileFault);
    });
  }

  for (const text of ['', '\n', 'c2hvcnQ=\n']) {
    it(`is refused when it holds ${JSON.stringify(text)}`, () => {
      path = join(folder, 'keys');
      writeFileSync(path, text, { mode: 0o600 });

      expect(() => new Keyring(loadKeys(path))).to.throw(UnusableKeyFileFault);
    });
  }
});
