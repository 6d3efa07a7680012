import { expect } from 'chai';

import { checkEtcdVersion } from './etcd-store.js';

describe('warnings about versions of etcd', () => {
  const cases: ReadonlyArray<{ version: string; warned: boolean }> = [
    { version: '3.3.27', warned: true },
    { version: '3.4.23', warned: true },
    { version: '3.4.45', warned: false },
    { version: '3.5.7', warned: true },
    { version: '3.5.21', warned: false },
    { version: '3.6.4', warned: false },
    { version: 'unknown', warned: true },
  ];
  for (const { version, warned } of cases) {
    it(`${warned ? 'warns of' : 'is content with'} ${version}`, () => {
      expect(checkEtcdVersion(version) !== undefined).to.equal(warned);
    });
  }
});
