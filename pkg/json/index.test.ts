import { expect } from 'chai';
import fc from 'fast-check';

import { assertLinearCost } from '../../dev/testing/index.js';
import { parseJson } from './index.js';
import { hostileTexts } from './json.testing.js';

const parse = (text: string) => parseJson(Buffer.from(text));

describe('parseJson', () => {
  const refused: readonly { text: string | Buffer; kind: string; path?: string }[] = [
    { text: '', kind: 'syntax' },
    { text: '   ', kind: 'syntax' },
    { text: '{', kind: 'syntax' },
    { text: '{"a":1', kind: 'syntax' },
    { text: '{"a":1,}', kind: 'syntax' },
    { text: '{a:1}', kind: 'syntax' },
    { text: '[1,]', kind: 'syntax' },
    { text: '[1 2]', kind: 'syntax' },
    { text: '[1}', kind: 'syntax' },
    { text: '{"a" 1}', kind: 'syntax' },
    { text: '{} {}', kind: 'syntax' },
    { text: '01', kind: 'syntax' },
    { text: '1.', kind: 'syntax' },
    { text: '+1', kind: 'syntax' },
    { text: 'NaN', kind: 'syntax' },
    { text: 'nul', kind: 'syntax' },
    { text: "'a'", kind: 'syntax' },
    { text: '"a', kind: 'syntax' },
    { text: '"\\x"', kind: 'syntax' },
    { text: '"\\u12g4"', kind: 'syntax' },
    { text: '"a\u0000b"', kind: 'syntax' },
    { text: '"a\nb"', kind: 'syntax' },
    { text: '{"a":"\\u0000"}', kind: 'control_character', path: 'a' },
    { text: '"\\b"', kind: 'control_character' },
    { text: '"\\ud800"', kind: 'surrogate' },
    { text: '"\\ud800\\u0041"', kind: 'surrogate' },
    { text: '"\\udc00\\ud800"', kind: 'surrogate' },
    { text: '{"a":1,"a":2}', kind: 'duplicate_key', path: 'a' },
    { text: '{"a":1,"\\u0061":2}', kind: 'duplicate_key', path: 'a' },
    { text: '{"x":[{},{"b":{"__proto__":{}}}]}', kind: 'forbidden_key', path: 'x[1].b.__proto__' },
    { text: '{"\\u005f_proto__":{}}', kind: 'forbidden_key', path: '__proto__' },
    { text: '{', kind: 'syntax', path: '' },
    { text: '{"a":1,', kind: 'syntax', path: '' },
    { text: '{"a":{"b":1,c', kind: 'syntax', path: 'a' },
    { text: '{"":1', kind: 'syntax', path: '[""]' },
    { text: '{"constructor":1}', kind: 'forbidden_key', path: 'constructor' },
    { text: '9007199254740993', kind: 'number' },
    { text: '{"n":[1e400]}', kind: 'number', path: 'n[0]' },
    { text: '-1e999', kind: 'number' },
    { text: '\ufeff{}', kind: 'bom' },
    { text: Buffer.from([0x22, 0xff, 0x22]), kind: 'utf8' },
    { text: Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), kind: 'utf8' },
    { text: Buffer.from('{}', 'utf16le'), kind: 'syntax' },
    { text: '['.repeat(33) + ']'.repeat(33), kind: 'depth' },
    { text: '['.repeat(1_000_000), kind: 'depth' },
    { text: `[${'1,'.repeat(20_000)}1]`, kind: 'tokens' },
    { text: `{"a":{"${'/'.repeat(4097)}":1}}`, kind: 'key_length', path: `a["${'/'.repeat(64)}"]` },
  ];

  for (const { text, kind, path } of refused) {
    it(`refuses ${JSON.stringify(text.toString().slice(0, 40))} as ${kind}`, () => {
      const parsed = parseJson(Buffer.from(text));

      expect(parsed.ok).to.equal(false);
      if (parsed.ok) return;
      expect(parsed.problem.kind).to.equal(kind);
      if (path !== undefined) expect(parsed.problem.path).to.equal(path);
    });
  }

  const accepted = [
    '{}',
    ' [ ] ',
    'null',
    '"\\ud83d\\ude00 \\n\\t\\r\\u000a"',
    '{"a":[1,-0.5,1e3,true,false,null,{"b":"c"}],"d":{}}',
    '['.repeat(32) + ']'.repeat(32),
    '9007199254740991',
    `{"${'/'.repeat(4096)}":1}`,
  ];
  for (const text of accepted) {
    it(`reads ${text.slice(0, 40)}`, () => {
      const parsed = parse(text);

      expect(parsed).to.deep.equal({ ok: true, value: JSON.parse(text) });
    });
  }

  it('reads all output of JSON.stringify, except values that are refused on purpose', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const parsed = parse(text);
        if (parsed.ok) expect(parsed.value).to.deep.equal(JSON.parse(text));
        else expect(parsed.problem.kind).to.be.oneOf(['number', 'control_character', 'forbidden_key', 'surrogate']);
      }),
      { numRuns: 2_000 },
    );
  });

  it('never accepts what JSON.parse refuses', () => {
    const fragments = ['{', '}', '[', ']', ',', ':', '"a"', '"b"', '1', '-', '.5', 'e3', 'true', 'nul', ' ', '\\', '"'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 14 }), parts => {
        const text = parts.join('');
        const parsed = parse(text);
        if (parsed.ok) expect(parsed.value).to.deep.equal(JSON.parse(text));
        else if (parsed.problem.kind === 'syntax') expect(() => JSON.parse(text) as unknown).to.throw(SyntaxError);
      }),
      { numRuns: 5_000 },
    );
  });

  for (const [name, { size, make }] of Object.entries(hostileTexts)) {
    it(`reads a mebibyte of ${name} at a cost in proportion to its length`, () =>
      assertLinearCost({ size, prepare: make, run: text => parse(text) }));
  }
});
