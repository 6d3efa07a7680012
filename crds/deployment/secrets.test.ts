import { expect } from 'chai';

import { exampleVolumes } from '../rejections/index.js';
import { listFaults, exampleFacts, folder, least, limits, scratch } from './admit.testing.js';
import { admitCreate } from './admit.js';

type Fields = Readonly<Record<string, unknown>>;
const entry = (fields: Fields = {}) => ({
  name: 'DB',
  vault_path: 'deployments/shop-db',
  anchor: 'process',
  ...fields,
});
const one = (fields: Fields) => ({ secrets: [entry(fields)] });
const path = (vault_path: unknown) => one({ vault_path });
const generate = (fields: Fields) => one({ generate: { keys: ['password'], ...fields } });
const composed = (template: unknown) => ({ secrets: [entry()], composedSecrets: { URL: template } });
const mount = (fields: Fields = {}) => ({
  volumeId: exampleVolumes.ready,
  mountPath: '/data',
  readOnly: true,
  ...fields,
});
const long = 'a'.repeat(64);

/** What is given, and the complaints it earns, each as `code field`. */
const cases: ReadonlyArray<{ given: Fields; found?: readonly string[] }> = [
  { given: { secrets: [] } },
  { given: one({}) },
  { given: one({ rotation: 'restart' }) },
  { given: { secrets: {} }, found: ['field_invalid secrets'] },
  { given: { secrets: [5] }, found: ['field_invalid secrets[0]'] },
  { given: { secrets: Array.from({ length: 65 }, () => entry()) }, found: ['field_invalid secrets'] },
  { given: one({ mode: 1 }), found: ['field_unknown secrets[0].mode'] },

  { given: one({ name: '_' }) },
  { given: one({ name: '' }), found: ['secret_name_invalid secrets[0].name'] },
  { given: one({ name: 'web-db' }), found: ['secret_name_invalid secrets[0].name'] },
  { given: one({ name: 'A\nB' }), found: ['secret_name_invalid secrets[0].name'] },
  { given: one({ name: undefined }), found: ['secret_name_invalid secrets[0].name'] },

  { given: path(undefined), found: ['secret_vault_path_required secrets[0].vault_path'] },
  { given: path(''), found: ['secret_vault_path_required secrets[0].vault_path'] },
  { given: path(null), found: ['secret_vault_path_required secrets[0].vault_path'] },
  { given: path('/deployments/x'), found: ['secret_vault_path_not_relative secrets[0].vault_path'] },
  { given: path('deployments/../x'), found: ['secret_vault_path_not_relative secrets[0].vault_path'] },
  { given: path('..'), found: ['secret_vault_path_not_relative secrets[0].vault_path'] },
  { given: path('x'), found: ['secret_path_shape secrets[0].vault_path'] },
  { given: path(5), found: ['secret_path_shape secrets[0].vault_path'] },
  { given: path('platform/x'), found: ['secret_path_namespace secrets[0].vault_path'] },
  { given: path('Deployments/x'), found: ['secret_path_namespace secrets[0].vault_path'] },
  { given: path('./x'), found: ['secret_path_namespace secrets[0].vault_path'] },
  { given: path('deployments/'), found: ['secret_path_name secrets[0].vault_path'] },
  { given: path('deployments/a/b'), found: ['secret_path_name secrets[0].vault_path'] },
  { given: path('deployments/-a'), found: ['secret_path_name secrets[0].vault_path'] },
  { given: path(`deployments/${long}`), found: ['secret_path_name secrets[0].vault_path'] },
  { given: path(`deployments/${long.slice(1)}`) },
  { given: path('resources/1st') },

  { given: one({ anchor: undefined }), found: ['secret_anchor_invalid secrets[0].anchor'] },
  { given: one({ anchor: 'Process' }), found: ['secret_anchor_invalid secrets[0].anchor'] },
  { given: one({ anchor: 'volume()' }), found: ['secret_anchor_invalid secrets[0].anchor'] },
  { given: one({ anchor: 'volume(data)' }), found: ['secret_anchor_invalid secrets[0].anchor'] },
  { given: one({ anchor: `volume(${exampleVolumes.ready}) ` }), found: ['secret_anchor_invalid secrets[0].anchor'] },
  { given: one({ anchor: 5 }), found: ['secret_anchor_invalid secrets[0].anchor'] },
  {
    given: one({ anchor: `volume(${exampleVolumes.ready})` }),
    found: ['secret_anchor_volume_not_declared secrets[0].anchor'],
  },
  {
    given: { ...one({ anchor: `volume(${exampleVolumes.ready})` }), volumes: [mount({ volumeId: scratch })] },
    found: ['secret_anchor_volume_not_declared secrets[0].anchor'],
  },
  { given: { ...one({ anchor: `volume(${exampleVolumes.ready})` }), volumes: [mount()] } }, // [2.4.23 2.4.24 3.19]
  { given: { ...one({ anchor: `volume(${folder})` }), volumes: [mount({ volumeId: folder, type: 'bind' })] } }, // [2.4.24]
  {
    given: { ...one({ anchor: `volume(${scratch})` }), volumes: [mount({ volumeId: scratch, type: 'tmpfs' })] },
    found: ['secret_anchor_volume_ephemeral secrets[0].anchor'],
  },
  {
    given: { ...one({ anchor: `volume(${scratch})` }), volumes: [mount({ volumeId: scratch })] },
    found: ['secret_anchor_volume_ephemeral secrets[0].anchor'],
  },
  // A volume that cannot be read is spoken of once, not as an anchor without a volume.
  {
    given: { ...one({ anchor: `volume(${exampleVolumes.ready})` }), volumes: [mount({ volumeId: 'x' })] },
    found: ['volume_mount_shape volumes[0].volumeId'],
  },

  { given: one({ rotation: 'signal' }), found: ['secret_rotation_unsupported secrets[0].rotation'] },
  { given: one({ rotation: '' }), found: ['secret_rotation_unsupported secrets[0].rotation'] },
  { given: one({ rotation: null }), found: ['secret_rotation_unsupported secrets[0].rotation'] },
  { given: one({ mount_path: '/run' }), found: ['secret_mount_path_unsupported secrets[0].mount_path'] },
  { given: one({ mount_path: '' }), found: ['secret_mount_path_unsupported secrets[0].mount_path'] },
  { given: one({ mount_path: null }), found: ['secret_mount_path_unsupported secrets[0].mount_path'] },

  { given: one({ values: { user: 'u' } }) },
  { given: one({ values: { 'us-er': 'u' } }), found: ['secret_key_invalid secrets[0].values.us-er'] },
  { given: one({ values: { '1': 'u' } }), found: ['secret_key_invalid secrets[0].values.1'] },
  { given: one({ values: { user: '' } }), found: ['secret_value_empty secrets[0].values.user'] },
  { given: one({ values: { user: 5 } }), found: ['field_invalid secrets[0].values.user'] },
  { given: one({ values: { user: 'x'.repeat(65_536) } }) },
  { given: one({ values: { user: 'x'.repeat(65_537) } }), found: ['secret_value_too_long secrets[0].values.user'] },
  { given: one({ values: { user: 'é'.repeat(32_769) } }), found: ['secret_value_too_long secrets[0].values.user'] },
  {
    given: one({ anchor: 'external', values: { user: 'u' } }),
    found: ['secret_external_not_writable secrets[0].values'],
  },
  {
    given: one({ anchor: 'external', generate: { keys: ['a'] } }),
    found: ['secret_external_not_writable secrets[0].generate'],
  },
  {
    given: one({ values: { a: 'x' }, generate: { keys: ['b', 'a'] } }),
    found: ['secret_key_provided_and_generated secrets[0].generate.keys[1]'],
  },

  { given: generate({}) },
  { given: generate({ keys: [] }), found: ['secret_generate_keys_required secrets[0].generate.keys'] },
  { given: generate({ keys: undefined }), found: ['secret_generate_keys_required secrets[0].generate.keys'] },
  { given: generate({ keys: 'a' }), found: ['secret_generate_keys_required secrets[0].generate.keys'] },
  { given: generate({ keys: ['a-b'] }), found: ['secret_key_invalid secrets[0].generate.keys[0]'] },
  { given: generate({ keys: ['a', 'b', 'a'] }), found: ['secret_generate_key_duplicate secrets[0].generate.keys[2]'] },
  { given: generate({ bytes: 16 }) },
  { given: generate({ bytes: 3072 }) },
  { given: generate({ bytes: 15 }), found: ['secret_generate_bytes_out_of_range secrets[0].generate.bytes'] },
  { given: generate({ bytes: 3073 }), found: ['secret_generate_bytes_out_of_range secrets[0].generate.bytes'] },
  { given: generate({ bytes: '32' }), found: ['secret_generate_bytes_out_of_range secrets[0].generate.bytes'] },
  { given: generate({ bytes: 2048, encoding: 'hex' }) },
  {
    given: generate({ bytes: 2049, encoding: 'hex' }),
    found: ['secret_generate_bytes_out_of_range secrets[0].generate.bytes'],
  },
  { given: generate({ encoding: 'HEX' }), found: ['secret_generate_encoding_unknown secrets[0].generate.encoding'] },
  { given: generate({ length: 22 }) },
  { given: generate({ length: 21 }), found: ['secret_generate_below_entropy_floor secrets[0].generate.length'] },
  {
    given: generate({ length: 20, charset: 'symbols' }),
    found: ['secret_generate_below_entropy_floor secrets[0].generate.length'],
  },
  { given: generate({ length: 21, charset: 'symbols' }) },
  { given: generate({ length: 4096 }) },
  { given: generate({ length: 4097 }), found: ['secret_generate_length_out_of_range secrets[0].generate.length'] },
  { given: generate({ length: 0 }), found: ['secret_generate_length_out_of_range secrets[0].generate.length'] },
  {
    given: generate({ charset: 'urlsafe' }),
    found: ['secret_generate_length_out_of_range secrets[0].generate.length'],
  },
  {
    given: generate({ length: 40, charset: 'toString' }),
    found: ['secret_generate_charset_unknown secrets[0].generate.charset'],
  },
  { given: generate({ bytes: 32, length: 40 }), found: ['secret_generate_axis_conflict secrets[0].generate'] },
  {
    given: generate({ encoding: 'hex', charset: 'urlsafe' }),
    found: ['secret_generate_axis_conflict secrets[0].generate'],
  },

  {
    given: { secrets: [entry(), entry({ name: 'B', vault_path: 'resources/shop-db' })] },
    found: ['secret_path_namespace_split secrets[1].vault_path'],
  },
  { given: { secrets: [entry(), entry({ name: 'B' })] } },
  { given: path('resources/db-admin'), found: ['secret_path_namespace_split secrets[0].vault_path'] },
  { given: path('deployments/db-admin') },

  { given: composed('{{secret.shop-db.url}}') },
  { given: composed('{"a":{"b":"{{secret.shop-db.url}}"}}') },
  { given: composed(''), found: ['secret_compose_template_empty composedSecrets.URL'] },
  { given: composed('  '), found: ['secret_compose_template_empty composedSecrets.URL'] },
  { given: composed('postgres://db'), found: ['secret_compose_no_reference composedSecrets.URL'] },
  { given: composed('{{secret.shop-db}}'), found: ['secret_compose_template_malformed composedSecrets.URL'] },
  { given: composed('{{ secret.shop-db.url }}'), found: ['secret_compose_template_malformed composedSecrets.URL'] },
  { given: composed('{{secret.Shop.url}}'), found: ['secret_compose_template_malformed composedSecrets.URL'] },
  { given: composed('{{secret.shop-db.a-b}}'), found: ['secret_compose_template_malformed composedSecrets.URL'] }, // [2.4.34]
  { given: composed('{{secret.shop-db.url'), found: ['secret_compose_template_malformed composedSecrets.URL'] },
  { given: composed('{{secret.other.url}}'), found: ['secret_compose_resource_undeclared composedSecrets.URL'] },
  { given: composed(5), found: ['field_invalid composedSecrets.URL'] },
  {
    given: { composedSecrets: { URL: '{{secret.x.y}}' } },
    found: ['secret_compose_resource_undeclared composedSecrets.URL'],
  },
  {
    given: { secrets: [entry()], composedSecrets: { '1': '{{secret.shop-db.url}}' } },
    found: ['environment_name_invalid composedSecrets.1'],
  },
  // Secrets that cannot be read are spoken of once, not as templates without a secret.
  { given: { ...composed('{{secret.shop-db.url}}'), secrets: 5 }, found: ['field_invalid secrets'] },

  {
    given: { ...composed('{{secret.shop-db.url}}'), environment: { URL: 'x' } },
    found: ['environment_name_conflict composedSecrets.URL'],
  },
  {
    given: { ...one({ values: { mode: 'x' } }), environment: { DB_mode: 'x' } },
    found: ['environment_name_conflict secrets[0].name'],
  },
  {
    given: { ...path('deployments/web-db'), environment: { DB_user: 'x' } },
    found: ['environment_name_conflict secrets[0].name'],
  },
  { given: { secrets: [entry(), entry()] }, found: ['environment_name_conflict secrets[1].name'] },
  {
    given: {
      secrets: [entry({ generate: { keys: ['a_b'] } }), entry({ name: 'DB_a', values: { b: 'x' } })],
    },
    found: ['environment_name_conflict secrets[1].name'],
  },

  // One entry's fault hides nothing of another's.
  {
    given: { secrets: [entry({ name: 5 }), entry({ name: 'B', anchor: 'x', vault_path: '/a', rotation: 5 })] },
    found: [
      'secret_name_invalid secrets[0].name',
      'secret_vault_path_not_relative secrets[1].vault_path',
      'secret_anchor_invalid secrets[1].anchor',
      'secret_rotation_unsupported secrets[1].rotation',
    ],
  },
];

const listRejected = (given: Fields) =>
  listFaults(admitCreate({ ...least, ...given }, exampleFacts, limits)).map(([code, field]) => `${code} ${field}`);

describe('secrets of a deployment', () => {
  for (const { given, found = [] } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify(given).slice(0, 120)}`, () => {
      expect(listRejected(given)).to.deep.equal(found);
    });
  }

  it('are never repeated, whatever is wrong with them', () => {
    const canary = 'hunter2-canary';
    const wrong = [
      one({ values: canary }),
      one({ values: { a: canary, b: { c: canary } } }),
      one({ values: [canary] }),
      one({ anchor: 'external', values: { a: canary } }),
      { secrets: { values: canary } },
      { secrets: [canary] },
      { secrets: [], composedSecrets: { A: canary, B: `{{${canary}`, C: `${canary}{{secret.a.b}}` } },
      { composedSecrets: canary },
    ];
    for (const given of wrong) {
      const text = JSON.stringify(admitCreate({ ...least, ...given }, exampleFacts, limits));
      expect(text).to.contain('rejections');
      expect(text).not.to.contain(canary);
    }
  });
});

describe('material that comes with a deployment', () => {
  const accepted = (given: Fields) => {
    const admission = admitCreate({ ...least, ...given }, exampleFacts, limits);
    if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
    return admission;
  };

  it('goes to the secrets store and nowhere else', () => {
    const { spec, material, alterations } = accepted(
      one({ values: { user: 'canary' }, generate: { keys: ['password'], length: 40 } }),
    );
    expect(spec.secrets).to.deep.equal([{ ...entry(), rotation: 'restart' }]);
    expect(material).to.deep.equal([
      {
        namespace: 'deployments',
        label: 'shop-db',
        values: { user: 'canary' },
        generation: { keys: ['password'], by: 'characters', length: 40, charset: 'alphanumeric' },
      },
    ]);
    expect(JSON.stringify([spec, alterations])).not.to.contain('canary');
    expect(alterations.map(({ field }) => field)).to.include.members(['secrets[0].values', 'secrets[0].generate']);
  });

  it('is generated from bytes by default', () => {
    const generation = { keys: ['password'], by: 'bytes', bytes: 32, encoding: 'base64url' };
    expect(accepted(generate({})).material[0]?.generation).to.deep.equal(generation);
  });

  it('is generated once for a credential that is anchored to a volume, and announced', () => {
    const anchored = {
      secrets: [
        entry({
          vault_path: 'deployments/web-db',
          anchor: `volume(${exampleVolumes.ready})`,
          generate: { keys: ['user', 'extra'] },
        }),
      ],
      volumes: [mount()],
    };
    const { material, alterations } = accepted(anchored);
    expect(material[0]?.generation?.keys).to.deep.equal(['extra']);
    expect(alterations.find(({ field }) => field === 'secrets[0].generate')?.why).to.contain('exists');
  });
});
