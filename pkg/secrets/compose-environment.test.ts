import { expect } from 'chai';
import fc from 'fast-check';

import { composeEnvironment } from './compose-environment.js';
import { toSecretDocument } from './document.js';

type Documents = Record<string, Record<string, string>>;
const compose = (
  entries: readonly [name: string, label: string][],
  templates: Record<string, string>,
  documents: Documents,
  taken: readonly string[] = [],
) => {
  const composition = composeEnvironment(
    entries.map(([name, label]) => ({ name, label })),
    templates,
    new Map(Object.entries(documents).map(([label, values]) => [label, toSecretDocument(values)])),
    taken,
  );
  if (composition.kind === 'incomplete') return composition;
  return Object.fromEntries([...composition.environment].map(([name, secret]) => [name, secret.reveal()]));
};
const db = { 'web-db': { user: 'app', password: 's3cret' } };
const incomplete = { kind: 'incomplete', missing: [], collisions: [], unusable: [] };

describe('composeEnvironment', () => {
  it('[2.4.2 2.4.17] delivers every key of every entry, and the composed secrets', () => {
    const url = 'postgres://{{secret.web-db.user}}:{{secret.web-db.password}}@db/{"a":{}}';
    expect(compose([['DB', 'web-db']], { DATABASE_URL: url }, db)).to.deep.equal({
      DB_user: 'app',
      DB_password: 's3cret',
      DATABASE_URL: 'postgres://app:s3cret@db/{"a":{}}',
    });
  });

  it('delivers one credential under two names', () => {
    expect(
      compose(
        [
          ['A', 'web-db'],
          ['B', 'web-db'],
        ],
        {},
        db,
      ),
    ).to.have.all.keys('A_user', 'A_password', 'B_user', 'B_password');
  });

  it('[2.4.37] inserts values verbatim, without expanding templates in them', () => {
    const documents = { a: { x: '{{secret.a.y}}', y: '$& $1 {{secret.b.z}}' } };
    expect(compose([], { T: '{{secret.a.x}}|{{secret.a.y}}' }, documents)).to.deep.equal({
      T: '{{secret.a.y}}|$& $1 {{secret.b.z}}',
    });
  });

  const cases: readonly [string, ReturnType<typeof compose>, object][] = [
    [
      'a document that is missing, once',
      compose(
        [
          ['A', 'gone'],
          ['B', 'gone'],
        ],
        { T: '{{secret.gone.x}}' },
        db,
      ),
      {
        missing: [{ label: 'gone' }],
      },
    ],
    [
      'every key that is missing',
      compose([], { T: '{{secret.web-db.a}}{{secret.web-db.b}}', U: '{{secret.web-db.a}}' }, db),
      {
        missing: [
          { label: 'web-db', key: 'a' },
          { label: 'web-db', key: 'b' },
        ],
      },
    ],
    [
      'two entries that meet in one name',
      compose(
        [
          ['A', 'one'],
          ['A_b', 'two'],
        ],
        {},
        { one: { b_c: '1' }, two: { c: '2' } },
      ),
      {
        collisions: ['A_b_c'],
      },
    ],
    [
      'a template that meets an entry',
      compose([['DB', 'web-db']], { DB_user: '{{secret.web-db.user}}' }, db),
      {
        collisions: ['DB_user'],
      },
    ],
    ['an entry that meets a constant', compose([['DB', 'web-db']], {}, db, ['DB_user']), { collisions: ['DB_user'] }],
    ['a key that is no name', compose([['A', 'x']], {}, { x: { 'a=b': '1' } }), { unusable: ['A_a=b'] }],
    ['a value with a NUL', compose([['A', 'x']], {}, { x: { a: '1\0' } }), { unusable: ['A_a'] }],
    ['a template that cannot be read', compose([], { T: '{{secret.web-db}}' }, db), { unusable: ['T'] }],
    [
      'more than the system takes',
      compose([], { T: '{{secret.x.a}}{{secret.x.a}}' }, { x: { a: 'x'.repeat(65_536) } }),
      {
        unusable: ['T'],
      },
    ],
  ];
  for (const [name, found, expected] of cases) {
    it(`reports ${name} and delivers nothing`, () => expect(found).to.deep.equal({ ...incomplete, ...expected }));
  }

  it('delivers everything or lists the gaps', () => {
    const word = fc.constantFrom('a', 'b', 'c');
    const documents = fc.dictionary(word, fc.dictionary(word, fc.constant('v'), { minKeys: 1 }));
    const references = fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(documents, references, (held, wanted) => {
        const template = wanted.map(([label, key]) => `{{secret.${label}.${key}}}`).join('-');
        const complete = wanted.every(([label, key]) => held[label]?.[key] !== undefined);
        const found = compose([], { T: template }, held);
        expect(found).to.deep.equal(
          complete
            ? { T: wanted.map(() => 'v').join('-') }
            : { ...incomplete, missing: (found as typeof incomplete).missing },
        );
        if (!complete) expect((found as typeof incomplete).missing).to.have.length.above(0);
      }),
    );
  });
});
