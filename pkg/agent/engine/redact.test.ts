import { expect } from 'chai';
import fc from 'fast-check';

import { assertLinearCost } from '../../../dev/testing/index.js';
import { type OutputLine, quotesSecret, redactOutput } from './redact.js';

const SECRET = 'p4ss/w0rd "of" a=test';

const LONG = Array.from({ length: 162 }, (_, at) => String.fromCharCode(65 + ((at * 7) % 58))).join('');
const wrap = (text: string, columns: number) => text.replace(new RegExp(`.{${columns}}`, 'g'), '$&\n');

describe('redactOutput', () => {
  const cases: ReadonlyArray<{ name: string; text: string; secrets?: readonly string[]; shown: string }> = [
    { name: 'keeps what holds no secret', text: 'one\ntwo\n', secrets: [SECRET], shown: 'one\ntwo' },
    { name: 'replaces a value', text: `login ${SECRET} failed`, shown: 'login [redacted] failed' },
    { name: 'replaces base64', text: Buffer.from(SECRET).toString('base64'), shown: '[redacted]' },
    {
      name: 'replaces base64 of a text in which the value stands somewhere',
      text: ['u:', 'us:', 'use:'].map(user => Buffer.from(`${user}${SECRET}!!`).toString('base64')).join('\n'),
      shown: 'dTp[redacted]QhIQ==\ndXM6[redacted]ISE=\ndXNlOn[redacted]CEh',
    },
    {
      name: 'replaces hexadecimal in capitals',
      text: Buffer.from(SECRET).toString('hex').toUpperCase(),
      shown: '[redacted]',
    },
    { name: 'replaces hexadecimal', text: `x${Buffer.from(SECRET).toString('hex')}`, shown: 'x[redacted]' },
    { name: 'replaces what a URL holds', text: `a:${encodeURIComponent(SECRET)}@b`, shown: 'a:[redacted]@b' },
    { name: 'replaces what JSON holds', text: JSON.stringify({ a: SECRET }), shown: '{"a":"[redacted]"}' },
    {
      name: 'replaces each line of a value with several',
      text: 'begin\nsecond-line\nend',
      secrets: ['first-line\nsecond-line'],
      shown: 'begin\n[redacted]\nend',
    },
    {
      name: 'replaces values that overlap as one',
      text: 'abcabcabcabc!',
      secrets: ['abcabcabc'],
      shown: '[redacted]!',
    },
    {
      name: 'replaces base64 that is wrapped at 76 columns',
      text: `key:\n${wrap(Buffer.from(LONG).toString('base64'), 76)}\nend`,
      secrets: [LONG],
      shown: 'key:\n[redacted]\n[redacted]\n[redacted]\nend',
    },
    {
      name: 'replaces hexadecimal with spaces between, as dumps have it',
      text: Buffer.from(SECRET).toString('hex').replace(/../g, '$& '),
      shown: '[redacted]',
    },
    {
      name: 'replaces the password of a URL that stands alone, as it is and decoded',
      text: 'for hunter2%40home, hunter2@home',
      secrets: ['postgres://app:hunter2%40home@db:5432/x'],
      shown: 'for [redacted], [redacted]',
    },
    {
      name: 'replaces the password of a connection string that stands alone',
      text: 'login of hunter-22 to db failed',
      secrets: ["host=db user=app password='hunter-22' port=1"],
      shown: 'login of [redacted] to db failed',
    },
    {
      name: 'replaces JSON inside of JSON',
      text: JSON.stringify({ line: JSON.stringify({ a: SECRET }) }),
      shown: '{"line":"{\\"a\\":\\"[redacted]\\"}"}',
    },
    { name: 'shows no control characters', text: 'a\u001b[31mb\r\nc', secrets: [], shown: 'a [31mb\nc' },
  ];
  for (const { name, text, secrets = [SECRET], shown } of cases) {
    it(name, () => expect(redactOutput(text, secrets)).to.deep.equal({ output: shown }));
  }

  it('withholds output beside a secret that is too short to be found, and where secrets are unknown', () => {
    expect(redactOutput('code 1234', ['1234'])).to.deep.equal({ isWithheld: true });
    expect(redactOutput('anything', undefined)).to.deep.equal({ isWithheld: true });
    expect(redactOutput('  \n', undefined)).to.deep.equal({});
  });

  it('withholds output beside a short password in a longer value', () => {
    expect(redactOutput('1234', ['postgres://app:1234@db/x'])).to.deep.equal({ isWithheld: true });
  });

  it('finds a value that is wrapped while the other stream writes between', () => {
    const [first = '', second = ''] = wrap(Buffer.from(LONG).toString('base64'), 76).split('\n');
    const lines: readonly OutputLine[] = [
      { stream: 'stdout', text: first },
      { stream: 'stderr', text: 'between' },
      { stream: 'stdout', text: second },
    ];
    const secret = Buffer.from(`${first}${second}`, 'base64').toString();
    expect(redactOutput(lines, [secret])).to.deep.equal({ output: '[redacted]\nbetween\n[redacted]' });
  });

  it('finds the rest of a wrapped value whose beginning or end was cut off', () => {
    const lines = wrap(Buffer.from(LONG).toString('base64'), 40).split('\n');
    const rest = lines.slice(1).join('\n').slice(9);
    const { output: end } = redactOutput(`${rest}\nwhole`, [LONG], { start: true });
    expect(end).to.match(/^(\[redacted\]\n)+whole$/);
    const { output: start } = redactOutput(`whole\n${lines.slice(0, 3).join('\n').slice(0, -5)}`, [LONG], {
      end: true,
    });
    expect(start).to.match(/^whole(\n\[redacted\])+$/);
  });

  it('leaves out lines that were cut, where a part of a secret may stand', () => {
    const text = `${SECRET.slice(4)}\nwhole\n${SECRET.slice(0, 9)}`;
    expect(redactOutput(text, [SECRET], { start: true, end: true })).to.deep.equal({ output: 'whole' });
    expect(redactOutput(SECRET.slice(4), [SECRET], { start: true })).to.deep.equal({ isWithheld: true });
  });

  it('keeps the last lines, bounded', () => {
    const text = Array.from({ length: 500 }, (_, n) => `${n} ${'x'.repeat(300)}`).join('\n');
    const { output = '' } = redactOutput(text, []);
    expect(output.length).to.be.at.most(2048);
    expect(output).to.match(/499 x+$/);
  });

  it('cuts no pair of surrogates, and removes none', () => {
    const { output = '' } = redactOutput('😀'.repeat(3_000), []);
    expect(output.length).to.be.at.most(2048);
    expect(output).to.match(/^…(?:😀)+$/u);
    expect(redactOutput(`${'x'.repeat(3_000)}😀`, []).output).to.match(/x😀$/u);
  });

  it('knows a value in the words of an engine, quoted or encoded', () => {
    expect(quotesSecret('invalid variable "A=p4ss/w0rd \\"of\\" a=test"', [SECRET])).to.equal(true);
    expect(quotesSecret(`bad ${Buffer.from(SECRET).toString('base64')}`, [SECRET])).to.equal(true);
    expect(quotesSecret('bad: A=1234', ['1234'])).to.equal(true);
    expect(quotesSecret('no such network', [SECRET, '1234', ''])).to.equal(false);
  });

  it('property: no value is left in the output, however it is embedded', () => {
    const word = fc.string({ minLength: 6, maxLength: 40 }).filter(text => text.trim().length >= 6);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), fc.string(), fc.string(), (secrets, a, b) => {
        const { output = '' } = redactOutput(secrets.join(a) + b + secrets[0], secrets);
        for (const secret of secrets) {
          if (!'[redacted]'.includes(secret.trim())) expect(output).to.not.include(secret);
        }
      }),
    );
  });

  it('costs in proportion to the output', () =>
    assertLinearCost({
      size: 1 << 16,
      prepare: size => 'a'.repeat(size),
      run: text => redactOutput(text, ['aaaaaa', 'aaaaaaa']),
    }));

  it('costs in proportion to a value that repeats itself', () =>
    assertLinearCost({
      size: 1 << 14,
      prepare: size => 'a'.repeat(size),
      run: text => redactOutput(`${text}${text}`, [text], { start: true, end: true }),
    }));
});
