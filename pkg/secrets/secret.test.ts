import { format, inspect } from 'node:util';
import { deserialize, serialize } from 'node:v8';

import { expect } from 'chai';

import { Secret } from './secret.js';

describe('Secret', () => {
  const canary = 'canary-7f3a9c';
  const secret = new Secret(canary);
  const text = secret as unknown as string;
  const holder = {
    nested: { list: [secret], map: new Map([['key', secret]]), error: new Error('x', { cause: secret }) },
  };

  const shown: readonly [string, () => unknown][] = [
    ['a template', () => `${text}`],
    ['joining', () => [secret, 'x'].join()],
    ['adding', () => text + ''],
    ['String', () => String(secret)],
    ['JSON', () => JSON.stringify(holder)],
    ['inspect', () => inspect(holder, { depth: 9, showHidden: true })],
    ['inspect without custom views', () => inspect(holder, { depth: 9, showHidden: true, customInspect: false })],
    ['format', () => format('%s %o %O %j %d', secret, secret, secret, secret, secret)],
    ['its keys', () => JSON.stringify([Object.entries(secret), Reflect.ownKeys(secret), Object.assign({}, secret)])],
    ['a structured clone', () => inspect(structuredClone(secret), { showHidden: true })],
    ['serialised bytes', () => serialize(secret).toString('latin1') + inspect(deserialize(serialize(secret)))],
    ['an error message', () => new Error(`failed for ${text}`).message],
  ];
  for (const [name, show] of shown) {
    it(`does not show in ${name}`, () => expect(String(show())).not.to.include(canary));
  }

  it('returns its value from reveal', () => expect(secret.reveal()).to.equal(canary));

  it('knows its size in bytes and compares with another', () => {
    expect(new Secret('ä✓').size).to.equal(5);
    expect(secret.equals(new Secret(canary))).to.equal(true);
    expect(secret.equals(new Secret('canary-7f3a9d'))).to.equal(false);
    expect(secret.equals(new Secret('canary'))).to.equal(false);
  });
});
