import { expect } from 'chai';

import { normaliseMessage } from './normalise-message.js';

const ID = 'b1946ac92492d2347c6235b4d2611184'.repeat(2);

describe('normaliseMessage', () => {
  const cases: ReadonlyArray<{ given: string; expected: string }> = [
    { given: 'exec: "/nope": no such file or directory', expected: 'exec: "/nope": no such file or directory' },
    { given: `endpoint web (${ID}) failed`, expected: 'endpoint web (<id>) failed' },
    { given: 'id 3f2504e0-4f89-41d3-9a0c-0305e82c3301', expected: 'id <id>' },
    { given: 'at 2030-01-01T10:00:00.123Z: denied', expected: 'at <time>: denied' },
    { given: 'read 10.0.0.9:41234->10.0.0.1:80 after 1.234s', expected: 'read <address>-><address> after <duration>' },
    { given: 'dial [::1]:5000', expected: 'dial <address>' },
    { given: 'open /proc/4711/ns/net: pid 4711', expected: 'open /proc/<process>/ns/net: <process>' },
    { given: 'Bind for 0.0.0.0:80 failed', expected: 'Bind for 0.0.0.0:80 failed' },
    { given: 'cafe decade port 8080', expected: 'cafe decade port 8080' },
    { given: 'two\nlines \u001b[31mred\u009b', expected: 'two lines  [31mred ' },
  ];
  for (const { given, expected } of cases) {
    it(`makes ${JSON.stringify(given)} ${given === expected ? 'no different' : 'independent of its attempt'}`, () => {
      expect(normaliseMessage(given)).to.equal(expected);
    });
  }

  it('keeps at most 300 characters, at a bounded cost', () => {
    expect(normaliseMessage('a '.repeat(100_000))).to.have.length(300);
  });
});
