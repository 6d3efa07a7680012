import { expect } from 'chai';
import { Type } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import { annotate, createBodyCheck, createValidator, type FieldRules, mapSchema, rule } from './index.js';
import { omitPaths } from './shape.js';

const schema = Type.Object(
  {
    last: Type.Optional(Type.String()),
    first: Type.String(annotate({ 'x-rules': true })),
    inner: Type.Optional(
      Type.Object(
        { b: Type.Optional(Type.Integer()), a: Type.Optional(Type.Integer()) },
        { additionalProperties: false },
      ),
    ),
    list: Type.Optional(Type.Array(Type.Integer(), { maxItems: 3 })),
    map: Type.Optional(mapSchema(Type.String(annotate({ 'x-redact': true })), { maxProperties: 5 })),
  },
  { additionalProperties: false },
);

describe('the expectation of a schema', () => {
  for (const [what, part, value, expected] of [
    ['maxItems 1', Type.Array(Type.Integer(), { maxItems: 1 }), [1, 2], 'a list of at most 1 entry'],
    ['maxItems 2', Type.Array(Type.Integer(), { maxItems: 2 }), [1, 2, 3], 'a list of at most 2 entries'],
    ['minItems 1', Type.Array(Type.Integer(), { minItems: 1 }), [], 'a list of at least 1 entry'],
    ['minLength 1', Type.String({ minLength: 1 }), '', 'a string of at least 1 character'],
    ['maxLength 3', Type.String({ maxLength: 3 }), 'four', 'a string of at most 3 characters'],
  ] as const) {
    it(`counts in singular and plural: ${what}`, () => {
      const checked = createBodyCheck(Type.Object({ part }))({ part: value });
      expect(checked.ok ? [] : checked.rejections.map(each => each.expected)).to.deep.equal([expected]);
    });
  }
});

const seen: unknown[] = [];
const fields: readonly FieldRules<string>[] = [
  {
    field: 'first',
    absent: rule('name_required', (value: unknown, at, refuse, _word: string) => refuse(at, value)),
    present: [
      rule('deployment_name_invalid', (value: unknown, at, refuse, word: string) =>
        value === word ? undefined : refuse(at, value),
      ),
      rule('image_required', (value: unknown, at, refuse, word: string) =>
        value === word ? undefined : refuse(at, value),
      ),
    ],
  },
  {
    field: 'map',
    present: [
      rule('port_invalid', (value: Record<string, string>, at, refuse, _word: string) => {
        seen.push(value);
        return Object.keys(value)
          .filter(key => key.startsWith('bad'))
          .map(key => refuse(at.child(key), value[key]));
      }),
    ],
  },
  {
    field: 'list',
    present: [
      rule('port_duplicate', (value: number[], at, refuse, _word: string) =>
        value[0] === value[1] ? refuse(at, value) : undefined,
      ),
    ],
  },
];
const examine = createValidator(schema, fields);
const found = (document: unknown, asks?: (field: string) => boolean) =>
  examine(document, () => 'good', asks).map(({ code, field }) => `${code} ${field}`);

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));

describe('a validator', () => {
  const cases: ReadonlyArray<{ name: string; given: unknown; found: string[] }> = [
    { name: 'finds nothing in a sound document', given: { first: 'good', map: { a: 'x' }, list: [1, 2] }, found: [] },
    { name: 'asks the rule of absence', given: {}, found: ['name_required first'] },
    { name: 'reports the first rule of a place only', given: { first: 'x' }, found: ['deployment_name_invalid first'] },
    { name: 'leaves a shape to the rules that own it', given: { first: 5 }, found: ['deployment_name_invalid first'] },
    {
      name: 'names what is unknown, at every depth, after what is known',
      given: { first: 'good', inner: { c: 1, a: 'x' }, zzz: 1, list: 'x' },
      found: ['field_invalid list', 'field_invalid inner.a', 'field_unknown inner.c', 'field_unknown zzz'],
    },
    {
      name: 'keeps the order of the schema inside a field',
      given: { first: 'good', inner: { a: 'x', b: 'x' } },
      found: ['field_invalid inner.b', 'field_invalid inner.a'],
    },
    {
      name: 'shows rules what is sound in a map, and reports the rest once',
      given: { first: 'good', map: { a: 1, bad: 'x', badNumber: 2, b: 'y' } },
      found: ['field_invalid map.a', 'field_invalid map.badNumber', 'port_invalid map.bad'],
    },
    {
      name: 'does not ask the rules of a list with a broken entry',
      given: { first: 'good', list: [1, 1, 'x'] },
      found: ['field_invalid list[2]'],
    },
    {
      name: 'says one thing of what is too large',
      given: { first: 'good', list: ['x', 'y', 'z', 'u'] },
      found: ['field_invalid list'],
    },
    {
      name: 'says one thing of a map that is too large',
      given: { first: 'good', map: many(6) },
      found: ['field_invalid map'],
    },
    { name: 'says one thing of a document that is too large', given: many(1000), found: ['field_invalid body'] },
    { name: 'says one thing of a document that is none', given: [], found: ['field_invalid body'] },
  ];
  for (const { name, given, found: expected } of cases) {
    it(name, () => {
      expect(found(given)).to.deep.equal(expected);
    });
  }

  it('hides the broken entries of a map from its rules', () => {
    seen.length = 0;
    found({ first: 'good', map: { a: 1, b: 'y' } });
    expect(seen).to.deep.equal([{ b: 'y' }]);
  });

  it('describes what a schema marks, and quotes the rest', () => {
    const [list, map] = examine({ first: 'good', map: { a: 1234 }, list: 'text' }, () => 'good').toReversed();
    expect(map?.received).to.equal('[redacted, number]');
    expect(list?.received).to.equal('text');
  });

  it('looks only at the fields that are asked about', () => {
    expect(found({ first: 'x', list: 'x', zzz: 1 }, field => field === 'list')).to.deep.equal(['field_invalid list']);
    expect(found({ 'a/b~c': 1 }, field => field === 'a/b~c')).to.deep.equal(['field_unknown a/b~c']);
  });

  it('does not report a field of the wrong shape as missing', () => {
    const strict = createValidator<undefined>(Type.Object({ a: Type.Optional(Type.String()) }), [
      { field: 'a', absent: rule('name_required', (value, at, refuse) => refuse(at, value)), present: [] },
    ]);
    expect(strict({}, () => undefined).map(({ code }) => code)).to.deep.equal(['name_required']);
    expect(strict({ a: 5 }, () => undefined).map(({ code }) => code)).to.deep.equal(['field_invalid']);
  });

  it('never passes what the shape refuses, though no rule claims it', () => {
    const lenient = createValidator(Type.Object({ a: Type.String(annotate({ 'x-rules': true })) }), [
      { field: 'a', present: [] },
    ]);
    expect(lenient({ a: 5 }, () => undefined).map(({ code }) => code)).to.deep.equal(['field_invalid']);
  });
});

describe('the check of a body', () => {
  const check = createBodyCheck(Type.Object({ a: Type.Integer({ minimum: 1 }) }, { additionalProperties: false }));

  it('hands over what is sound', () => {
    expect(check({ a: 1 })).to.deep.equal({ ok: true, value: { a: 1 } });
  });

  for (const [given, wanted] of [
    [{ a: 0 }, 'an integer of 1 or more'],
    [{ a: 'x' }, 'an integer'],
    [{}, 'an integer'],
  ] as const) {
    it(`says what it wanted instead of ${JSON.stringify(given)}`, () => {
      const checked = check(given);
      expect(checked.ok ? undefined : checked.rejections[0].expected).to.equal(wanted);
    });
  }
});

describe('a document without some places', () => {
  const path = (...parts: string[]) => parts.reduce((at, part) => at.child(part), FieldPath.root);

  it('leaves the original as it was', () => {
    const document = { a: { b: 1, c: 2, d: 3 }, list: [{ x: 1 }] };
    const rest = omitPaths(document, [
      path('a', 'b'),
      path('a', 'c'),
      FieldPath.root.child('list').index(0).child('x'),
    ]);
    expect(rest).to.deep.equal({ a: { d: 3 }, list: [{}] });
    expect(document).to.deep.equal({ a: { b: 1, c: 2, d: 3 }, list: [{ x: 1 }] });
  });

  it('loses a list whose entry is such a place', () => {
    expect(omitPaths({ list: [1, 2] }, [FieldPath.root.child('list').index(0)])).to.deep.equal({});
  });

  it('is content with a place that is not there', () => {
    expect(omitPaths({ a: 1 }, [path('b', 'c'), path('a', 'x')])).to.deep.equal({});
  });
});
