import { expect } from 'chai';

import type { WatchEvent } from '../store.js';
import { DeliveredState } from './etcd-follow.js';

const put = (key: string, revision: number): WatchEvent => ({
  key,
  revision,
  position: 0,
  entry: { key, revision, created: 1, bytes: Buffer.from('{}') },
});
const removal = (key: string, revision: number): WatchEvent => ({ key, revision, position: 0, entry: undefined });

describe('the delivered state of a follower', () => {
  it('asks the store to confirm the five keys that changed last, however often one of them changes', () => {
    const state = new DeliveredState();
    state.apply(['a', 'b', 'c', 'd', 'e', 'f'].map((key, at) => put(key, at + 1)));
    state.apply(Array.from({ length: 20 }, (_, at) => put('barrier', 10 + at)));
    expect([...state.recent.keys()]).to.deep.equal(['c', 'd', 'e', 'f', 'barrier']);
    expect(state.recent.get('barrier')?.revision).to.equal(29);
  });

  it('asks the store to confirm that a deleted key is absent', () => {
    const state = new DeliveredState();
    state.apply([put('a', 1), put('b', 2), removal('a', 3)]);
    expect([...state.recent].map(([key, entry]) => [key, entry?.revision])).to.deep.equal([
      ['b', 2],
      ['a', undefined],
    ]);
  });

  it('begins with the newest keys of a list', () => {
    const state = new DeliveredState();
    const entries = [3, 1, 7, 5, 2, 6, 4].map(revision => put(`key-${revision}`, revision).entry!);
    state.reset({ entries, revision: 9 });
    expect([...state.recent.values()].map(entry => entry?.revision)).to.deep.equal([3, 4, 5, 6, 7]);
  });
});
