import { expect } from 'chai';
import fc from 'fast-check';

import type { StoredToken, TokenKind } from '../../crds/tenant/index.js';
import { systemClock, systemRandom } from '../clock/index.js';
import { Keyring } from './keyring.js';
import { formatToken, mintToken, parseToken, verifyToken } from './index.js';

const keyring = new Keyring([systemRandom.bytes(32)]);
const env = { keyring, clock: { ...systemClock, now: () => 1_000_000 }, random: systemRandom };
const draft = {
  kind: 'tenant',
  tenant: 't',
  role: 'viewer',
  description: '',
  createdBy: 'me',
  lifeSeconds: 10,
} as const;
const kinds: readonly TokenKind[] = ['tenant', 'admin', 'node', 'join'];

describe('token text', () => {
  it('reads back what it wrote', () => {
    const bytes = (count: number) => fc.uint8Array({ minLength: count, maxLength: count }).map(b => Buffer.from(b));
    fc.assert(
      fc.property(fc.constantFrom(...kinds), bytes(12), bytes(32), (kind, id, secret) => {
        const text = formatToken(kind, id, secret);
        expect(text).to.match(/^m(tk|ad|nd|jn)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/);
        expect(parseToken(text)?.kind).to.equal(kind);
      }),
    );
  });

  it('refuses a token with one letter changed, added or left out', () => {
    const { text } = mintToken(draft, env);
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === 'a' ? 'b' : 'a';
      expect(parseToken(text.slice(0, at) + other + text.slice(at + 1)), `letter ${at}`).to.equal(undefined);
      expect(parseToken(text.slice(0, at) + text.slice(at + 1))).to.equal(undefined);
      expect(parseToken(text.slice(0, at) + other + text.slice(at))).to.equal(undefined);
    }
  });

  it('refuses any other text', () => {
    const nearly = fc.stringMatching(/^m(tk|ad|nd|jn|xx)_[0-9A-Za-z]{15,17}_[0-9A-Za-z]{48,50}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), nearly), text => parseToken(text) === undefined),
      { numRuns: 10_000 },
    );
  });

  it('spreads 256 bits of secret over the text', () => {
    const ones = parseToken(formatToken('admin', Buffer.alloc(12), Buffer.alloc(32, 0xff)))!;
    const zeros = parseToken(formatToken('admin', Buffer.alloc(12), Buffer.alloc(32)))!;

    expect(zeros.secret).to.equal('0'.repeat(43));
    expect(ones.secret).to.not.include('0'.repeat(5));
  });
});

describe('mintToken', () => {
  it('stores nothing of the secret in the record', () => {
    const { text, stored } = mintToken(draft, env);
    const { secret, id } = parseToken(text)!;

    expect(JSON.stringify(stored)).to.not.include(secret.slice(0, 8));
    expect(stored.id).to.equal(id);
    expect(Date.parse(stored.expiresAt) - Date.parse(stored.createdAt)).to.equal(10_000);
  });
});

describe('verifyToken', () => {
  const { text, stored } = mintToken(draft, env);
  const presented = parseToken(text)!;
  const cases: readonly { name: string; stored: StoredToken | undefined; now: number; because?: string }[] = [
    { name: 'accepts the token it was minted as', stored, now: 1_000_000 },
    { name: 'accepts it until the last millisecond', stored, now: 1_009_999 },
    { name: 'refuses it from the moment it expires', stored, now: 1_010_000, because: 'expired' },
    {
      name: 'refuses it when the expiry is unreadable',
      stored: { ...stored, expiresAt: '?' },
      now: 0,
      because: 'expired',
    },
    { name: 'refuses an id that nobody has', stored: undefined, now: 1_000_000, because: 'unknown' },
    { name: 'refuses another secret', stored: { ...stored, digest: 'ab'.repeat(32) }, now: 0, because: 'secret' },
    { name: 'refuses a broken digest', stored: { ...stored, digest: '' }, now: 0, because: 'secret' },
    { name: 'refuses another kind of token', stored: { ...stored, kind: 'admin' }, now: 0, because: 'kind' },
  ];
  for (const { name, stored: record, now, because } of cases) {
    it(name, () => {
      const verified = verifyToken(presented, record, keyring, now);

      expect(verified.ok ? undefined : verified.because).to.equal(because);
    });
  }

  it('accepts tokens of an older pepper in the keyring, and of no other', () => {
    const older = systemRandom.bytes(32);
    const minted = mintToken(draft, { ...env, keyring: new Keyring([older]) });
    const rotated = new Keyring([systemRandom.bytes(32), older]);

    expect(verifyToken(parseToken(minted.text)!, minted.stored, rotated, 0).ok).to.equal(true);
    expect(verifyToken(parseToken(minted.text)!, minted.stored, keyring, 0).ok).to.equal(false);
  });
});
