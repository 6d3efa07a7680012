import { expect } from 'chai';
import fc from 'fast-check';

import { alphabets, type Charset, defaultSecretLimits, type Encoding } from '../secret/index.js';
import { listFaults, exampleFacts, least, limits } from './admit.testing.js';
import { admitCreate } from './admit.js';

type Fields = Readonly<Record<string, unknown>>;
const reference = (fields: Fields = {}) => ({
  name: 'DB',
  vault_path: 'deployments/shop-db',
  anchor: 'process',
  ...fields,
});
const listCodes = (document: Fields) =>
  listFaults(admitCreate({ ...least, ...document }, exampleFacts, limits)).map(([code]) => code);
const runs = { numRuns: 1_000 };

describe('any generate block', () => {
  const { entropyFloor, bytesMin, bytesMax, encodedMax, lengthMax } = defaultSecretLimits;
  const codes = (fields: Fields) => listCodes({ secrets: [reference({ generate: { keys: ['k'], ...fields } })] });

  it('[2.5.7 8.7] with bytes is accepted exactly when its value has enough entropy and is not too long', () => {
    const edges = [15, 16, 17, 2047, 2048, 2049, 3071, 3072, 3073].map(bytes => fc.constant(bytes));
    const bytesSent = fc.oneof(fc.integer({ min: -1, max: 5_000 }), ...edges);
    const encodings = fc.constantFrom<Encoding>('hex', 'base64', 'base64url');
    fc.assert(
      fc.property(bytesSent, encodings, (bytes, encoding) => {
        const text = Buffer.alloc(Math.max(0, bytes)).toString(encoding);
        const isInRange = bytes >= bytesMin && bytes <= bytesMax && text.length <= encodedMax;
        const isRandomEnough = bytes * 8 >= entropyFloor;
        const expected = isInRange && isRandomEnough ? [] : ['secret_generate_bytes_out_of_range'];
        expect(codes({ bytes, encoding })).to.deep.equal(expected);
      }),
      runs,
    );
  });

  it('[2.5.11 8.6] with characters is accepted exactly when its length in that alphabet has enough entropy', () => {
    const charsets = fc.constantFrom(...(Object.keys(alphabets) as Charset[]));
    const lengths = fc.oneof(fc.integer({ min: -1, max: 40 }), fc.integer({ min: 4_090, max: 4_100 }));
    fc.assert(
      fc.property(lengths, charsets, (length, charset) => {
        const bits = length * Math.log2(new Set(alphabets[charset]).size);
        const isInRange = length >= 1 && length <= lengthMax;
        const floor = bits >= entropyFloor ? [] : ['secret_generate_below_entropy_floor'];
        const expected = isInRange ? floor : ['secret_generate_length_out_of_range'];
        expect(codes({ length, charset })).to.deep.equal(expected);
      }),
      runs,
    );
  });

  it('[2.5.13] has one axis', () => {
    const axes = fc.tuple(
      fc.constantFrom({ bytes: 32 }, { encoding: 'hex' }, { bytes: 32, encoding: 'hex' }),
      fc.constantFrom({ length: 40 }, { charset: 'symbols' }, { length: 40, charset: 'symbols' }),
    );
    fc.assert(
      fc.property(axes, ([bytes, characters]) => {
        expect(codes({ ...bytes, ...characters })).to.deep.equal(['secret_generate_axis_conflict']);
      }),
    );
  });
});

describe('any path of a secret', () => {
  const piece = fc.constantFrom(
    'deployments',
    'resources',
    'private',
    'web-db',
    '..',
    '.',
    '',
    'A',
    '-a',
    'a_b',
    '%2e',
  );
  const path = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.array(piece, { maxLength: 4 }).map(pieces => pieces.join('/')),
    fc.stringMatching(/^(deployments|resources)\/[a-z0-9-]{0,70}$/),
  );

  it('[2.4.6 2.4.7 2.4.9] is accepted exactly when it is a granted namespace and a label', () => {
    fc.assert(
      fc.property(path, vault_path => {
        const isSound = /^(deployments|resources)\/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(vault_path);
        const codes = listCodes({ secrets: [reference({ vault_path })] });
        expect(codes.length === 0, codes.join()).to.equal(isSound);
        for (const code of codes) expect(code).to.match(/^secret_(path|vault_path)_/);
      }),
      runs,
    );
  });

  it('[2.4.8] belongs to one namespace', () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,10}$/);
    fc.assert(
      fc.property(label, name => {
        const paths = [`deployments/${name}`, `resources/${name}`];
        const secrets = paths.map((vault_path, position) => reference({ name: `S${position}`, vault_path }));
        expect(listCodes({ secrets })).to.deep.equal(['secret_path_namespace_split']);
      }),
    );
  });
});

describe('any template', () => {
  const sound = fc.constantFrom('{{secret.shop-db.user}}', '{{secret.shop-db.K_2}}');
  const text = fc.string({ minLength: 1 }).filter(each => !/[{}\0]/.test(each) && each.trim() !== '');
  const broken = fc.constantFrom(
    '{{',
    '{{secret.shop-db}}',
    '{{secret.Shop.user}}',
    '{{secret.shop-db.1}}',
    '{{ secret.a.b }}',
  );
  const foreign = fc.constantFrom('{{secret.other.user}}', '{{secret.shop.user}}');
  const codes = (template: string) => listCodes({ secrets: [reference()], composedSecrets: { URL: template } });
  const mixed = (must: fc.Arbitrary<string>, may: fc.Arbitrary<string>) =>
    fc.tuple(fc.array(may), must, fc.array(may)).map(([before, one, after]) => [...before, one, ...after].join(''));
  const cases: readonly [name: string, templates: fc.Arbitrary<string>, code: string | undefined][] = [
    ['[2.4.31] with a placeholder of what is declared is accepted', mixed(sound, fc.oneof(text, sound)), undefined],
    ['[2.4.36] without a placeholder is a constant', mixed(text, text), 'secret_compose_no_reference'],
    [
      '[2.4.31] with a broken placeholder is refused',
      mixed(broken, fc.oneof(text, sound)),
      'secret_compose_template_malformed',
    ],
    ['[2.4.33] that uses what is not declared is refused', mixed(foreign, sound), 'secret_compose_resource_undeclared'],
    ['[2.4.35] that is empty is refused', fc.stringMatching(/^[ \t\n]{0,5}$/), 'secret_compose_template_empty'],
  ];
  for (const [name, templates, code] of cases) {
    it(name, () => {
      fc.assert(
        fc.property(templates, template => {
          expect(codes(template)).to.deep.equal(code === undefined ? [] : [code]);
        }),
        { numRuns: 500 },
      );
    });
  }
});
