import { expect } from 'chai';
import fc from 'fast-check';

import { HeaderDecoder } from './header-decoder.js';
import { encodeHeaders } from './header-encoder.js';
import { Http2Fault } from './http2-fault.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const shown = (decoder: HeaderDecoder, block: string) =>
  decoder.decode(hex(block)).map(({ name, value }) => `${name}: ${value}`);

describe('headers as HPACK sends them', () => {
  it('understands the compressed requests of RFC 7541, appendix C.4, which refer to one another', () => {
    const decoder = new HeaderDecoder();
    expect(shown(decoder, '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')).to.deep.equal([
      ':method: GET',
      ':scheme: http',
      ':path: /',
      ':authority: www.example.com',
    ]);
    expect(shown(decoder, '8286 84be 5886 a8eb 1064 9cbf')).to.deep.equal([
      ':method: GET',
      ':scheme: http',
      ':path: /',
      ':authority: www.example.com',
      'cache-control: no-cache',
    ]);
    expect(shown(decoder, '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf')).to.deep.equal([
      ':method: GET',
      ':scheme: https',
      ':path: /index.html',
      ':authority: www.example.com',
      'custom-key: custom-value',
    ]);
  });

  it('understands the responses of appendix C.6, whose table holds 256 bytes and forgets', () => {
    const decoder = new HeaderDecoder();
    const toSize256 = '3fe101';
    const first =
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3';
    const location = 'location: https://www.example.com';
    const date = 'date: Mon, 21 Oct 2013 20:13:21 GMT';
    expect(shown(decoder, toSize256 + first)).to.deep.equal([':status: 302', 'cache-control: private', date, location]);
    expect(shown(decoder, '4883 640e ffc1 c0bf')).to.deep.equal([
      ':status: 307',
      'cache-control: private',
      date,
      location,
    ]);
    expect(() => decoder.decode(hex('c2')), 'the first status was forgotten for the second').to.throw(Http2Fault);
  });

  it('gives back what was encoded', () => {
    const text = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map(byte => String.fromCharCode(byte)),
      maxLength: 600,
    });
    fc.assert(
      fc.property(fc.array(fc.record({ name: text, value: text }), { maxLength: 5 }), fields => {
        expect(new HeaderDecoder().decode(encodeHeaders(fields))).to.deep.equal(fields);
      }),
    );
  });

  for (const [what, block] of [
    ['a reference to nothing', 'be'],
    ['the number 0', '80'],
    ['a string that is cut off', '4003 6162'],
    ['a name without a value', '4001 61'],
    ['a number that is cut off', 'ff'],
    ['a number that never ends', 'ff80 8080 8080 8080 8080 8080'],
    ['a number of endless zeros', `ff${'80'.repeat(200)}00`],
    ['a table larger than offered', '3fe2 1f'],
    ['compressed text that contains its own end', '4001 6184 ffff fffc'],
    ['compressed text with a byte of padding', '4001 6182 1fff'],
    ['compressed text padded with zeros', '4001 6181 18'],
  ] as const) {
    it(`refuses ${what}`, () => {
      expect(() => new HeaderDecoder().decode(hex(block))).to.throw(Http2Fault);
    });
  }

  it('answers anything at all with headers or a fault', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        try {
          new HeaderDecoder().decode(Buffer.from(bytes));
        } catch (thrown) {
          expect(thrown).to.be.instanceOf(Http2Fault);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
