import { expect } from 'chai';
import fc from 'fast-check';

import { catalogue, getEntry, type RejectionCode } from '../rejections/index.js';
import { checkSecretWrite, defaultSecretLimits, guardPersisted } from './index.js';

const granted = ['deployments', 'resources'];

function write(document: unknown, at: { namespace?: string; resource?: string } = {}) {
  return checkSecretWrite(
    { namespace: 'deployments', resource: 'web-db', ...at, document },
    granted,
    defaultSecretLimits,
  );
}

const faults = (checked: ReturnType<typeof write>) =>
  checked.ok ? [] : checked.rejections.map(({ code, field }) => `${code} ${field}`);

describe('a write of secret material', () => {
  const many = (count: number, value = 'x') =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`key_${i}`, value]));
  const cases: ReadonlyArray<{ given: unknown; found: string[] }> = [
    { given: { values: { password: 'x' } }, found: [] },
    { given: { generate: { keys: ['password'] } }, found: [] },
    { given: { values: { user: 'x' }, generate: { keys: ['password'] } }, found: [] },
    { given: {}, found: ['secret_write_empty values'] },
    { given: { values: {} }, found: ['secret_write_empty values'] },
    { given: { values: null }, found: ['secret_write_empty values'] },
    { given: { values: null, generate: { keys: ['a'] } }, found: ['secret_write_empty values'] },
    { given: { values: [] }, found: ['field_invalid values'] },
    { given: { values: {}, generate: { keys: ['a'] } }, found: [] },
    { given: { generate: {} }, found: ['secret_generate_keys_required generate.keys'] },
    { given: { generate: [] }, found: ['field_invalid generate'] },
    { given: { generate: { keys: [] } }, found: ['secret_generate_keys_required generate.keys'] },
    { given: { generate: { keys: ['a', 'a'] } }, found: ['secret_generate_key_duplicate generate.keys[1]'] },
    { given: { generate: { keys: ['a b'] } }, found: ['secret_key_invalid generate.keys[0]'] },
    { given: { generate: { keys: ['a'], bytes: 1 } }, found: ['secret_generate_bytes_out_of_range generate.bytes'] },
    { given: { generate: { keys: ['a'], length: 5 } }, found: ['secret_generate_below_entropy_floor generate.length'] },
    {
      given: { generate: { keys: ['a'], length: 0.5 } },
      found: ['secret_generate_length_out_of_range generate.length'],
    },
    {
      given: { generate: { keys: ['a'], bytes: 32, charset: 'urlsafe' } },
      found: ['secret_generate_axis_conflict generate'],
    },
    {
      given: { generate: { keys: ['a'], encoding: '?' } },
      found: ['secret_generate_encoding_unknown generate.encoding'],
    },
    {
      given: { generate: { keys: ['a'], length: 32, charset: '?' } },
      found: ['secret_generate_charset_unknown generate.charset'],
    },
    { given: { generate: { keys: ['a'], size: 5 } }, found: ['field_unknown generate.size'] },
    {
      given: { values: { a: 'x' }, generate: { keys: ['a'] } },
      found: ['secret_key_provided_and_generated generate.keys[0]'],
    },
    {
      given: { values: { 'a-b': 'x', ok: '' } },
      found: ['secret_key_invalid values.a-b', 'secret_value_empty values.ok'],
    },
    { given: { values: { a: 'x'.repeat(65_537) } }, found: ['secret_value_too_long values.a'] },
    { given: { values: { a: 5 } }, found: ['field_invalid values.a'] },
    { given: { values: 'x' }, found: ['field_invalid values'] },
    { given: { values: many(64) }, found: [] },
    { given: { values: many(65) }, found: ['field_invalid values'] },
    { given: { values: many(5, 'x'.repeat(60_000)) }, found: ['field_invalid values'] },
    { given: { values: many(10_000) }, found: ['field_invalid values'] },
    { given: { value: { a: 'x' } }, found: ['secret_write_empty values', 'field_unknown value'] },
    { given: null, found: ['field_invalid body'] },
    { given: [], found: ['field_invalid body'] },
  ];
  for (const { given, found } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify(given).slice(0, 80)}`, () => {
      expect(faults(write(given))).to.deep.equal(found);
    });
  }

  it('is judged together with its path', () => {
    expect(faults(write({}, { namespace: 'platform', resource: 'Web' }))).to.deep.equal([
      'secret_path_namespace namespace',
      'secret_path_shape resource',
      'secret_write_empty values',
    ]);
    for (const resource of ['', '..', 'a/b', 'a'.repeat(64)]) {
      expect(faults(write({ values: { a: 'x' } }, { resource }))).to.deep.equal(['secret_path_shape resource']);
    }
  });

  it('never repeats a value', () => {
    const canary = 'hunter2-canary';
    const wrong = [
      canary,
      { values: canary },
      { values: { a: [canary] } },
      { values: { 'a-b': canary } },
      { value: canary },
    ];
    for (const given of wrong) expect(JSON.stringify(write(given))).not.to.contain(canary);
  });

  it('says what is to be generated, with every default', () => {
    const checked = write({ values: { user: 'u' }, generate: { keys: ['password'], length: 30, charset: 'symbols' } });
    expect(checked.ok && checked.value).to.deep.equal({
      namespace: 'deployments',
      label: 'web-db',
      values: { user: 'u' },
      generation: { keys: ['password'], by: 'characters', length: 30, charset: 'symbols' },
    });
  });

  it('is measured by the configured limits', () => {
    const strict = { ...defaultSecretLimits, valueMax: 3, entropyFloor: 512, encodedMax: 100 };
    const check = (document: unknown) =>
      faults(checkSecretWrite({ namespace: 'deployments', resource: 'a', document }, granted, strict));
    expect(check({ values: { a: 'four' } })).to.deep.equal(['secret_value_too_long values.a']);
    expect(check({ generate: { keys: ['a'], bytes: 63 } })).to.deep.equal([
      'secret_generate_bytes_out_of_range generate.bytes',
    ]);
    expect(check({ generate: { keys: ['a'], bytes: 64 } })).to.deep.equal([]);
    expect(check({ generate: { keys: ['a'], bytes: 76 } })).to.deep.equal([
      'secret_generate_bytes_out_of_range generate.bytes',
    ]);
  });
});

describe('a secret that is too large', () => {
  const judge = (values: Readonly<Record<string, string>>, keysMax: number, documentMax: number) => {
    const strict = { ...defaultSecretLimits, keysMax, documentMax };
    const checked = checkSecretWrite(
      { namespace: 'deployments', resource: 'a', document: { values } },
      granted,
      strict,
    );
    return checked.ok ? [] : checked.rejections.map(({ received, expected }) => `${received}; ${expected}`);
  };
  for (const [what, values, keysMax, documentMax, text] of [
    ['one key', { a: 'xy' }, 1, 1, '[redacted, object of 1 entry]; at most 1 key and 1 byte in all'],
    ['two keys', { a: 'x', b: 'y' }, 1, 100, '[redacted, object of 2 entries]; at most 1 key and 100 bytes in all'],
  ] as const) {
    it(`is described with its size and the limit, and without a value: ${what}`, () =>
      expect(judge(values, keysMax, documentMax)).to.deep.equal([text]));
  }
});

describe('any sound write of material', () => {
  const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,9}$/);
  const generation = fc.oneof(
    fc.record(
      { bytes: fc.integer({ min: 16, max: 2048 }), encoding: fc.constantFrom('hex', 'base64', 'base64url') },
      { requiredKeys: [], noNullPrototype: true },
    ),
    fc.record(
      { length: fc.integer({ min: 22, max: 4096 }), charset: fc.constantFrom('alphanumeric', 'urlsafe', 'symbols') },
      { requiredKeys: ['length'], noNullPrototype: true },
    ),
  );
  const body = fc
    .tuple(
      fc.dictionary(key, fc.string({ minLength: 1 }), { minKeys: 1, maxKeys: 5 }),
      fc.uniqueArray(key, { minLength: 1 }),
      generation,
    )
    .map(([values, keys, how]) => ({ values, generate: { keys: keys.filter(name => !(name in values)), ...how } }))
    .filter(({ generate }) => generate.keys.length > 0);

  it('is accepted with exactly its values and keys', () => {
    fc.assert(
      fc.property(body, document => {
        const checked = write(document);
        if (!checked.ok) throw new Error(JSON.stringify(checked.rejections));
        expect(checked.value.values).to.deep.equal(document.values);
        expect(checked.value.generation).to.deep.include(document.generate);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('examples of material on the reference pages', () => {
  const shown = (Object.keys(catalogue) as RejectionCode[]).filter(code => {
    const { example } = getEntry(code);
    return typeof example === 'object' && ('values' in example || 'generate' in example);
  });

  it('cover the rules of material', () => {
    expect(shown.length).to.be.at.least(11);
  });

  for (const code of shown) {
    it(`${code}: the example earns it, and the fixed example is accepted`, () => {
      const checked = write(getEntry(code).example);
      expect(checked.ok ? [] : checked.rejections.map(rejection => rejection.code)).to.deep.equal([code]);
      expect(faults(write(getEntry(code).fixed))).to.deep.equal([]);
    });
  }
});

describe('the gate in front of the store', () => {
  const entry = { name: 'DB', vault_path: 'deployments/a', anchor: 'process' };
  const cases: ReadonlyArray<{ record: unknown; code?: string; field?: string }> = [
    { record: { secrets: [entry] } },
    { record: {} },
    { record: null },
    { record: 'text' },
    { record: { secrets: 'text' } },
    {
      record: { secrets: [entry, { ...entry, values: { a: 'x' } }] },
      code: 'secret_material_would_persist',
      field: 'secrets[1].values',
    },
    {
      record: { secrets: [{ ...entry, values: {} }] },
      code: 'secret_material_would_persist',
      field: 'secrets[0].values',
    },
    {
      record: { secrets: [{ ...entry, generate: null }] },
      code: 'secret_generate_would_persist',
      field: 'secrets[0].generate',
    },
    {
      record: { spec: { secrets: [{ generate: {} }] } },
      code: 'secret_generate_would_persist',
      field: 'secrets[0].generate',
    },
    {
      record: { template: { secrets: [{ values: {} }] } },
      code: 'secret_material_would_persist',
      field: 'secrets[0].values',
    },
  ];
  for (const { record, code, field } of cases) {
    it(`${code ?? 'lets pass'}: ${JSON.stringify(record)}`, () => {
      const refused = guardPersisted(record);
      expect([refused?.code, refused?.field]).to.deep.equal([code, field]);
    });
  }

  it('does not repeat what it found', () => {
    expect(JSON.stringify(guardPersisted({ secrets: [{ values: { a: 'canary' } }] }))).not.to.contain('canary');
  });
});
