import { expect } from 'chai';

import { Entry } from '../entry.js';
import type { Change, WatchEvent } from '../store.js';
import { settleOutcome } from './settlement.js';

const bytes = (text: string) => Buffer.from(text);
const entry = (key: string, text: string, revision: number, created = revision) =>
  new Entry(key, bytes(text), revision, created);

/** One key's life, as pairs of revision and content; `undefined` is a deletion. */
type Life = Readonly<Record<string, readonly (readonly [number, string | undefined])[]>>;

function reads(life: Life) {
  const all: WatchEvent[] = Object.entries(life)
    .flatMap(([key, moments]) =>
      moments.map(([revision, text]) => ({
        key,
        revision,
        position: 0,
        entry: text === undefined ? undefined : entry(key, text, revision),
      })),
    )
    .sort((a, b) => a.revision - b.revision);
  let histories = 0;
  return {
    entry: async (key: string, at = Infinity) =>
      all.findLast(event => event.key === key && event.revision <= at)?.entry,
    history: async (after: number, until: number) => {
      histories++;
      return all.filter(({ revision }) => revision > after && revision <= until);
    },
    histories: () => histories,
  };
}

const create: Change = { guards: [{ key: 'k', at: 0 }], puts: [{ key: 'k', bytes: bytes('ours') }], deletes: [] };
const replace: Change = { ...create, guards: [{ key: 'k', at: 5 }] };
const remove: Change = { guards: [{ key: 'k', at: 5 }], puts: [], deletes: ['k'] };
const removeBoth: Change = { ...remove, deletes: ['k', 'l'] };
const archived: Change = {
  guards: [{ key: 'k', at: 5 }],
  puts: [
    { key: 'k', bytes: bytes('ours') },
    { key: 'archive', bytes: bytes('operation 1') },
  ],
  deletes: [],
  proof: 'archive',
};

describe('settling a lost answer', () => {
  const window = { after: 10, until: 20 };
  const cases: ReadonlyArray<{ name: string; change: Change; life: Life; at: number | undefined; reads?: number }> = [
    { name: 'a create that was made', change: create, life: { k: [[12, 'ours']] }, at: 12, reads: 0 },
    { name: 'a create that was not', change: create, life: {}, at: undefined },
    { name: 'a create that another writer made first', change: create, life: { k: [[12, 'theirs']] }, at: undefined },
    {
      name: 'a create that was made and overwritten',
      change: create,
      life: {
        k: [
          [12, 'ours'],
          [14, 'theirs'],
        ],
      },
      at: 12,
    },
    {
      name: 'a create that was made and deleted',
      change: create,
      life: {
        k: [
          [12, 'ours'],
          [14, undefined],
        ],
      },
      at: 12,
    },
    {
      name: 'a create like one of long ago',
      change: create,
      life: {
        k: [
          [3, 'ours'],
          [14, 'theirs'],
        ],
      },
      at: undefined,
    },
    {
      name: 'a replace that was made',
      change: replace,
      life: {
        k: [
          [5, 'old'],
          [13, 'ours'],
        ],
      },
      at: 13,
      reads: 0,
    },
    { name: 'a replace that was not', change: replace, life: { k: [[5, 'old']] }, at: undefined, reads: 0 },
    {
      name: 'a replace by the same bytes that was not',
      change: replace,
      life: { k: [[5, 'ours']] },
      at: undefined,
      reads: 0,
    },
    {
      name: 'a replace that another write overtook',
      change: replace,
      life: {
        k: [
          [5, 'old'],
          [13, 'theirs'],
        ],
      },
      at: undefined,
    },
    {
      name: 'a replace that was made and overwritten',
      change: replace,
      life: {
        k: [
          [5, 'old'],
          [13, 'ours'],
          [15, 'theirs'],
        ],
      },
      at: 13,
    },
    {
      name: 'a change proven by its archive',
      change: archived,
      life: {
        k: [
          [5, 'old'],
          [13, 'ours'],
          [14, 'theirs'],
        ],
        archive: [[13, 'operation 1']],
      },
      at: 13,
      reads: 0,
    },
    {
      name: 'a removal that was made',
      change: remove,
      life: {
        k: [
          [5, 'old'],
          [13, undefined],
        ],
      },
      at: 13,
    },
    { name: 'a removal that was not', change: remove, life: { k: [[5, 'old']] }, at: undefined, reads: 0 },
    {
      name: 'a removal that another write overtook',
      change: remove,
      life: {
        k: [
          [5, 'old'],
          [12, 'theirs'],
          [13, undefined],
        ],
      },
      at: undefined,
    },
    {
      name: 'a removal of two that was made',
      change: removeBoth,
      life: {
        k: [
          [5, 'old'],
          [13, undefined],
        ],
        l: [
          [6, 'x'],
          [13, undefined],
        ],
      },
      at: 13,
    },
    {
      name: 'a create whose bytes another writer wrote later, behind another guard',
      change: create,
      life: {
        k: [
          [12, 'theirs'],
          [13, 'ours'],
        ],
      },
      at: undefined,
    },
    {
      name: 'a change of two keys of which another writer wrote one, with the same bytes',
      change: { ...archived, guards: [{ key: 'k', at: 5 }], proof: 'k' },
      life: {
        k: [
          [5, 'old'],
          [13, 'ours'],
        ],
      },
      at: undefined,
    },
    {
      name: 'a change whose other guard did not hold when another writer wrote the same bytes',
      change: { ...create, guards: [...create.guards, { key: 'fence', at: 7 }] },
      life: { k: [[12, 'ours']], fence: [[9, 'another leader']] },
      at: undefined,
    },
    {
      name: 'the last of two creates with the same bytes and a removal between them',
      change: create,
      life: {
        k: [
          [12, 'ours'],
          [13, undefined],
          [14, 'ours'],
        ],
      },
      at: 14,
    },
    {
      name: 'a removal of one key by another writer',
      change: removeBoth,
      life: {
        k: [
          [5, 'old'],
          [13, undefined],
        ],
        l: [[6, 'x']],
      },
      at: undefined,
    },
  ];
  for (const { name, change, life, at, reads: histories } of cases) {
    it(`knows ${name}`, async () => {
      const history = reads(life);
      expect(await settleOutcome(change, window, history)).to.equal(at);
      if (histories !== undefined) expect(history.histories()).to.equal(histories);
    });
  }
});
