import { expect } from 'chai';

import { parsePeerAddress } from './peer-address.js';

describe('the address of a peer', () => {
  const cases: Readonly<Record<string, unknown>> = {
    '10.0.0.7:7071': { host: '10.0.0.7', port: 7071 },
    'node-7.example:0': { host: 'node-7.example', port: 0 },
    '[fd00::7]:7071': { host: 'fd00::7', port: 7071 },
    'a:65535': { host: 'a', port: 65_535 },
    'a:65536': undefined,
    '-a:1': undefined,
    '.a:1': undefined,
    '-:1': undefined,
    'a-:1': undefined,
    'a.:1': undefined,
    ':1': undefined,
    'a b:1': undefined,
    'a:1\n': undefined,
    a: undefined,
  };
  for (const [text, read] of Object.entries(cases)) {
    it(`${JSON.stringify(text)} is ${JSON.stringify(read) ?? 'refused'}`, () => {
      expect(parsePeerAddress(text)).to.deep.equal(read);
    });
  }
});
