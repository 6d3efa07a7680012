import {
  change,
  type CodeCase,
  describeCodes,
  entry,
  ready,
  type RejectableRequest,
  scratch,
  toDryRun,
  web,
  writtenByOther,
} from './rejection-lab.testing.js';

const one = (parts: Readonly<Record<string, unknown>>) => web({ secrets: [entry(parts)] });
const minted = (block: Readonly<Record<string, unknown>>) => one({ generate: { keys: ['password'], ...block } });
const put = (path: string, body: unknown): RejectableRequest => ({
  method: 'PUT',
  path: `/api/v1/secrets/${path}`,
  body,
});
const write = (body: unknown) => put('deployments/web-db', body);
const mint = (block: Readonly<Record<string, unknown>>) => write({ generate: { keys: ['password'], ...block } });
const composed = (template: unknown) => web({ secrets: [entry()], composedSecrets: { URL: template } });

/** The same fault in a deployment and in a secret write. */
const both = (name: string, field: string, block: Readonly<Record<string, unknown>>): readonly CodeCase[] => [
  [`${name}, in a deployment`, `secrets[0].${field}`, minted(block)],
  [`${name}, in a write`, field, mint(block)],
];
const given = (name: string, field: string, values: unknown): readonly CodeCase[] => [
  [`${name}, in a deployment`, `secrets[0].${field}`, one({ values })],
  [`${name}, in a write`, field, write({ values })],
];
const PATH = 'secrets[0].vault_path';
const ANCHORED = { name: 'DB', vault_path: 'deployments/db-admin', anchor: `volume(${writtenByOther})` };

describeCodes('[7.2] references to secrets (7.3)', [
  {
    code: 'anchored_secret_dropped',
    status: 409,
    cases: [
      ['[2.4.26 7.3.1] by an empty list', 'secrets', change('db', { secrets: [] })],
      ['by null', 'secrets', change('db', { secrets: null })],
      ['by another anchor', 'secrets', change('db', { secrets: [{ ...ANCHORED, anchor: 'process' }] })],
    ],
  },
  {
    code: 'anchored_secret_repointed',
    status: 409,
    cases: [
      [
        '[2.4.27 7.3.2] to another label',
        PATH,
        change('db', { secrets: [{ ...ANCHORED, vault_path: 'deployments/other' }] }),
      ],
      ['to another namespace', PATH, change('db', { secrets: [{ ...ANCHORED, vault_path: 'resources/other' }] })],
      [
        'with others beside it',
        'secrets[1].vault_path',
        change('db', {
          secrets: [entry({ name: 'X', vault_path: 'deployments/x' }), { ...ANCHORED, vault_path: 'deployments/y' }],
        }),
      ],
    ],
  },
  {
    code: 'secret_anchor_invalid',
    status: 422,
    cases: [
      ['[2.4.11 7.3.3] none', 'secrets[0].anchor', one({ anchor: undefined })],
      ['another word', 'secrets[0].anchor', one({ anchor: 'host' })],
      ['a volume without an id', 'secrets[0].anchor', one({ anchor: 'volume()' })],
      ['a volume and more', 'secrets[0].anchor', one({ anchor: `volume(${ready}) ` })],
      ['a number', 'secrets[0].anchor', one({ anchor: 7 })],
    ],
  },
  {
    code: 'secret_anchor_volume_ephemeral',
    status: 422,
    cases: [
      [
        '[2.4.25 7.3.4] by its type',
        'secrets[0].anchor',
        web({
          secrets: [entry({ anchor: `volume(${scratch})` })],
          volumes: [{ volumeId: scratch, mountPath: '/tmp/x' }],
        }),
      ],
      [
        'by what the mount says',
        'secrets[0].anchor',
        web({
          secrets: [entry({ anchor: `volume(${scratch})` })],
          volumes: [{ volumeId: scratch, type: 'tmpfs', mountPath: '/tmp/x' }],
        }),
      ],
      [
        'by a change',
        'secrets[0].anchor',
        change('cache', {
          secrets: [entry({ anchor: `volume(${scratch})` })],
          volumes: [{ volumeId: scratch, mountPath: '/tmp/x' }],
        }),
      ],
    ],
  },
  {
    code: 'secret_anchor_volume_not_declared',
    status: 422,
    cases: [
      ['[2.4.23 7.3.5] no volumes', 'secrets[0].anchor', one({ anchor: `volume(${ready})` })],
      ['by a change', 'secrets[0].anchor', change('cache', { secrets: [entry({ anchor: `volume(${ready})` })] })],
      [
        'another volume',
        'secrets[0].anchor',
        web({ secrets: [entry({ anchor: `volume(${scratch})` })], volumes: [{ volumeId: ready, mountPath: '/data' }] }),
      ],
    ],
  },
  {
    code: 'secret_compose_no_reference',
    status: 422,
    cases: [
      ['[7.3.6] a constant', 'composedSecrets.URL', composed('postgres://db/shop')],
      ['one pair of braces', 'composedSecrets.URL', composed('{secret.web-db.user}')],
      ['a key alone', 'composedSecrets.URL', composed('web-db.user')],
    ],
  },
  {
    code: 'secret_compose_resource_undeclared',
    status: 422,
    cases: [
      ['[2.4.33 7.3.7] another label', 'composedSecrets.URL', composed('{{secret.other.user}}')],
      ['the name of the entry', 'composedSecrets.URL', composed('{{secret.db.user}}')],
      ['beside a declared one', 'composedSecrets.URL', composed('{{secret.web-db.user}}{{secret.x.y}}')],
    ],
  },
  {
    code: 'secret_compose_template_empty',
    status: 422,
    cases: [
      ['[7.3.8] empty', 'composedSecrets.URL', composed('')],
      ['a space', 'composedSecrets.URL', composed(' ')],
      ['lines and tabs', 'composedSecrets.URL', composed('\n\t\r\n')],
    ],
  },
  {
    code: 'secret_compose_template_malformed',
    status: 422,
    cases: [
      ['[7.3.9] no key', 'composedSecrets.URL', composed('{{secret.web-db}}')],
      ['never closed', 'composedSecrets.URL', composed('{{secret.web-db.user')],
      ['[2.4.32] a capital letter', 'composedSecrets.URL', composed('{{secret.Web.user}}')],
      ['bait for an expression', 'composedSecrets.URL', composed('{{'.repeat(2000))],
    ],
  },
  {
    code: 'secret_mount_path_unsupported',
    status: 422,
    cases: [
      ['[2.4.16 7.3.22] a path', 'secrets[0].mount_path', one({ mount_path: '/run/secrets' })],
      ['empty', 'secrets[0].mount_path', one({ mount_path: '' })],
      ['null', 'secrets[0].mount_path', one({ mount_path: null })],
    ],
  },
  {
    code: 'secret_name_invalid',
    status: 422,
    cases: [
      ['[2.4.1 7.3.23] a hyphen', 'secrets[0].name', one({ name: 'DB-1' })],
      ['empty', 'secrets[0].name', one({ name: '' })],
      ['none', 'secrets[0].name', one({ name: undefined })],
      ['an assignment', 'secrets[0].name', one({ name: 'A=B' })],
    ],
  },
  {
    code: 'secret_path_name',
    status: 422,
    cases: [
      ['[7.3.24] a capital letter', PATH, one({ vault_path: 'deployments/Web' })],
      ['a hyphen last', PATH, one({ vault_path: 'deployments/web-' })],
      ['nothing after the namespace', PATH, one({ vault_path: 'deployments/' })],
      ['two labels', PATH, one({ vault_path: 'deployments/web/db' })],
      ['too long', PATH, one({ vault_path: `deployments/${'a'.repeat(64)}` })],
    ],
  },
  {
    code: 'secret_path_namespace',
    status: 422,
    cases: [
      ['[2.4.6 7.3.25] another', PATH, one({ vault_path: 'platform/web-db' })],
      ['in capitals', PATH, one({ vault_path: 'Deployments/web-db' })],
      ['in a write', 'namespace', put('platform/web-db', { values: { a: 'b' } })],
      ['in a deletion', 'namespace', { method: 'DELETE', path: '/api/v1/secrets/platform/web-db' }],
    ],
  },
  {
    code: 'secret_path_namespace_split',
    status: 422,
    cases: [
      [
        '[2.4.8 7.3.26] in one document',
        'secrets[1].vault_path',
        web({ secrets: [entry(), entry({ name: 'X', vault_path: 'resources/web-db' })] }),
      ],
      ['across deployments', PATH, one({ vault_path: 'resources/db-admin' })],
      ['by a change', PATH, change('cache', { secrets: [entry({ vault_path: 'resources/db-admin' })] })],
    ],
  },
  {
    code: 'secret_path_shape',
    status: 422,
    cases: [
      ['[7.3.27] one part', PATH, one({ vault_path: 'web-db' })],
      ['nothing before the label', PATH, one({ vault_path: 'a b' })],
      ['a label that is none, in a write', 'resource', put('deployments/Web_DB', { values: { a: 'b' } })],
      ['a label that is none, in a deletion', 'resource', { method: 'DELETE', path: '/api/v1/secrets/deployments/A' }],
    ],
  },
  {
    code: 'secret_rotation_unsupported',
    status: 422,
    cases: [
      ['[2.4.13 7.3.28] reload', 'secrets[0].rotation', one({ rotation: 'reload' })],
      ['empty', 'secrets[0].rotation', one({ rotation: '' })],
      ['true', 'secrets[0].rotation', one({ rotation: true })],
    ],
  },
  {
    code: 'secret_vault_path_not_relative',
    status: 422,
    cases: [
      ['[2.4.5 5.6 7.3.31] absolute', PATH, one({ vault_path: '/deployments/web-db' })],
      ['upwards', PATH, one({ vault_path: 'deployments/../web-db' })],
      ['upwards at once', PATH, one({ vault_path: '../other-tenant/web-db' })],
    ],
  },
  {
    code: 'secret_vault_path_required',
    status: 422,
    cases: [
      ['[2.4.3 7.3.32] none', PATH, one({ vault_path: undefined })],
      ['empty', PATH, one({ vault_path: '' })],
      ['null', PATH, one({ vault_path: null })],
    ],
  },
  {
    code: 'secret_external_not_writable',
    status: 422,
    cases: [
      ['[2.4.30] values', 'secrets[0].values', one({ anchor: 'external', values: { a: 'b' } })],
      ['generate', 'secrets[0].generate', one({ anchor: 'external', generate: { keys: ['a'] } })],
      [
        'by a change',
        'secrets[0].values',
        change('cache', { secrets: [entry({ anchor: 'external', values: { a: 'b' } })] }),
      ],
    ],
  },
  {
    code: 'environment_name_conflict',
    status: 422,
    cases: [
      [
        'with a key that is given',
        'secrets[0].name',
        web({ environment: { DB_user: 'x' }, secrets: [entry({ values: { user: 'y' } })] }),
      ],
      [
        'with a key that is there',
        'composedSecrets.ADMIN_password',
        web({
          secrets: [entry({ name: 'ADMIN', vault_path: 'deployments/db-admin' })],
          composedSecrets: { ADMIN_password: '{{secret.db-admin.password}}' },
        }),
      ],
      ['of two entries', 'secrets[1].name', web({ secrets: [entry(), entry({ vault_path: 'deployments/other' })] })],
    ],
  },
]);

describeCodes('secret material (7.3)', [
  {
    code: 'secret_generate_axis_conflict',
    status: 422,
    cases: [
      ...both('both axes', 'generate', { bytes: 32, length: 32 }), // [7.3.10]
      ...both('mixed', 'generate', { encoding: 'hex', charset: 'urlsafe' }),
    ],
  },
  {
    code: 'secret_generate_below_entropy_floor',
    status: 422,
    cases: [
      ...both('one character short', 'generate.length', { length: 21 }), // [7.3.11]
      ...both('one', 'generate.length', { length: 1, charset: 'symbols' }),
    ],
  },
  {
    code: 'secret_generate_bytes_out_of_range',
    status: 422,
    cases: [
      ...both('one below', 'generate.bytes', { bytes: 15 }), // [2.5.6 7.3.12]
      ...both('one above', 'generate.bytes', { bytes: 3073 }),
      ...both('above the ceiling of hex', 'generate.bytes', { bytes: 2049, encoding: 'hex' }),
      ...both('a fraction', 'generate.bytes', { bytes: 16.5 }),
    ],
  },
  {
    code: 'secret_generate_charset_unknown',
    status: 422,
    cases: [
      ...both('another', 'generate.charset', { length: 32, charset: 'emoji' }), // [2.5.12 7.3.13]
      ...both('a number', 'generate.charset', { length: 32, charset: 7 }),
    ],
  },
  {
    code: 'secret_generate_encoding_unknown',
    status: 422,
    cases: [
      ...both('another', 'generate.encoding', { encoding: 'base32' }), // [2.5.8 7.3.14]
      ...both('in capitals', 'generate.encoding', { encoding: 'HEX' }),
    ],
  },
  {
    code: 'secret_generate_key_duplicate',
    status: 422,
    cases: [
      ...both('twice', 'generate.keys[1]', { keys: ['a', 'a'] }), // [2.5.2 7.3.15]
      ...both('at the end', 'generate.keys[2]', { keys: ['a', 'b', 'a'] }),
    ],
  },
  {
    code: 'secret_generate_keys_required',
    status: 422,
    cases: [...both('empty', 'generate.keys', { keys: [] }), ...both('none', 'generate.keys', { keys: undefined })], // [2.5.1 7.3.16]
  },
  {
    code: 'secret_generate_length_out_of_range',
    status: 422,
    cases: [
      ...both('one above', 'generate.length', { length: 4097 }), // [2.5.10 7.3.17]
      ...both('none', 'generate.length', { length: 0 }),
      ...both('a text', 'generate.length', { length: '32' }),
    ],
  },
  {
    code: 'secret_key_invalid',
    status: 422,
    cases: [
      ...given('a hyphen', 'values.a-b', { 'a-b': 'x' }), // [2.4.19 7.3.19]
      ...given('a digit first', 'values.1a', { '1a': 'x' }),
      ...both('to be generated', 'generate.keys[0]', { keys: ['a b'] }), // [2.5.3]
    ],
  },
  {
    code: 'secret_key_provided_and_generated',
    status: 422,
    cases: [
      [
        '[2.5.4 7.3.20] in a deployment',
        'secrets[0].generate.keys[0]',
        one({ values: { a: 'b' }, generate: { keys: ['a'] } }),
      ],
      ['in a write', 'generate.keys[0]', write({ values: { a: 'b' }, generate: { keys: ['a'] } })],
      ['among others', 'generate.keys[1]', write({ values: { a: 'b' }, generate: { keys: ['c', 'a'] } })],
    ],
  },
  {
    code: 'secret_value_empty',
    status: 422,
    cases: [...given('one', 'values.a', { a: '' }), ...given('beside another', 'values.b', { a: 'x', b: '' })], // [2.4.20 7.3.29]
  },
  {
    code: 'secret_value_too_long',
    status: 422,
    cases: [
      ...given('one byte', 'values.a', { a: 'x'.repeat(65_537) }), // [2.4.21 7.3.30 8.5]
      ...given('in bytes, not characters', 'values.a', { a: 'é'.repeat(32_769) }),
    ],
  },
  {
    code: 'secret_write_empty',
    status: 422,
    cases: [
      ['[4.30 7.3.33] nothing', 'values', write({})],
      ['no values', 'values', write({ values: {} })],
      ['in a dry run', 'values', toDryRun(write({}))],
    ],
  },
]);
