import { expect } from 'chai';

import { formatTraceparent, parseTraceparent } from './index.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traceparent', () => {
  const accepted: readonly [name: string, text: string, isSampled: boolean][] = [
    ['a trace that is recorded', `00-${TRACE}-${SPAN}-01`, true],
    ['a trace that is not recorded', `00-${TRACE}-${SPAN}-00`, false],
    ['flags of later versions beside it', `00-${TRACE}-${SPAN}-03`, true],
    ['flags of later versions without it', `00-${TRACE}-${SPAN}-fe`, false],
    ['a later version', `cc-${TRACE}-${SPAN}-01`, true],
    ['a later version that says more', `cc-${TRACE}-${SPAN}-01-what-the-future-holds`, true],
  ];
  for (const [name, text, isSampled] of accepted) {
    it(`reads ${name}`, () => {
      expect(parseTraceparent(text)).to.deep.equal({ traceId: TRACE, spanId: SPAN, isSampled });
    });
  }

  const ignored: readonly [name: string, text: unknown][] = [
    ['nothing', undefined],
    ['an empty text', ''],
    ['a list', [`00-${TRACE}-${SPAN}-01`]],
    ['the version that is none', `ff-${TRACE}-${SPAN}-01`],
    ['more than version 00 has', `00-${TRACE}-${SPAN}-01-more`],
    ['a dash at the end', `00-${TRACE}-${SPAN}-01-`],
    ['a later version that goes on without a dash', `cc-${TRACE}-${SPAN}-01more`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a digit that is none', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
    ['a trace id that is too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a span id that is too long', `00-${TRACE}-${SPAN}0-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['flags of one digit', `00-${TRACE}-${SPAN}-1`],
    ['spaces around', ` 00-${TRACE}-${SPAN}-01 `],
    ['a line after it', `00-${TRACE}-${SPAN}-01\n`],
    ['two of them, as Node joins them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a page', `cc-${TRACE}-${SPAN}-01-${'a'.repeat(10_000)}`],
  ];
  for (const [name, text] of ignored) {
    it(`ignores ${name}`, () => expect(parseTraceparent(text)).to.equal(undefined));
  }

  it('is written as it is read', () => {
    for (const text of [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`]) {
      expect(formatTraceparent(parseTraceparent(text)!)).to.equal(text);
    }
  });
});
