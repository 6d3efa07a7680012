import { expect } from 'chai';

import { type HeldTrouble, holdTroubles, isOutOfOrder, HELD_MAX } from './held-troubles.js';
import type { Trouble } from './object-troubles.js';

const trouble = (key: string, cause = 'broken'): Trouble => ({
  key,
  tone: 'bad',
  title: key,
  cause,
  help: '',
  since: null,
  href: '#/',
});
const list = (keys: string) => keys.split('').map(key => trouble(key));
const show = (held: readonly HeldTrouble[]) =>
  held.map(({ trouble: { key }, isSettled }) => (isSettled ? `(${key})` : key)).join('');

/** What is drawn after each of these was wrong in turn; one letter is one trouble. */
const cases: readonly (readonly [string, readonly string[], string, boolean])[] = [
  ['as they are sorted at first', ['abc'], 'abc', false],
  ['with what is new at the end', ['bc', 'abc'], 'bca', true],
  ['with what is right again in its place', ['abc', 'ac'], 'a(b)c', true],
  ['with what is wrong again in its place', ['abc', 'ac', 'abc'], 'abc', false],
  ['in the order in which they stood', ['abc', 'cba'], 'abc', true],
  ['until nothing is wrong', ['ab', ''], '(a)(b)', true],
];

describe('what is wrong, while someone reads it', () => {
  for (const [title, turns, drawn, isOut] of cases) {
    it(`is drawn ${title}`, () => {
      const held = turns.reduce<readonly HeldTrouble[]>((stood, now) => holdTroubles(stood, list(now)), []);
      expect(show(held)).to.equal(drawn);
      expect(isOutOfOrder(held, list(turns.at(-1)!))).to.equal(isOut);
    });
  }

  it('says what is wrong with it now', () => {
    const [held] = holdTroubles(holdTroubles([], [trouble('a')]), [trouble('a', 'more broken')]);
    expect(held?.trouble.cause).to.equal('more broken');
  });

  it('is not pushed out by what is right again', () => {
    const many = Array.from({ length: HELD_MAX }, (_, at) => trouble(`old ${at}`));
    expect(show(holdTroubles(holdTroubles([], many), [...many.slice(1), trouble('new')]))).to.not.include('(');
  });
});
