import { expect } from 'chai';

import { NEWEST_API, negotiateVersion } from './docker-api.js';

describe('negotiating the version of the Engine API', () => {
  const cases: ReadonlyArray<{ name: string; newest: string; oldest: string; spoken: string | undefined }> = [
    { name: "speaks Debian's 1.41", newest: '1.41', oldest: '1.12', spoken: '1.41' },
    { name: 'speaks its own newest to a newer engine', newest: '1.99', oldest: '1.44', spoken: NEWEST_API },
    { name: 'refuses an engine that is too old', newest: '1.40', oldest: '1.12', spoken: undefined },
    { name: 'knows that 1.9 is older than 1.41', newest: '1.9', oldest: '1.1', spoken: undefined },
    { name: 'refuses an engine that has dropped its newest', newest: '1.99', oldest: '1.98', spoken: undefined },
  ];

  for (const { name, newest, oldest, spoken } of cases) {
    it(name, () => expect(negotiateVersion(newest, oldest)).to.equal(spoken));
  }
});
