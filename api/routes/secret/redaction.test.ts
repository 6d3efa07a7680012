import { expect } from 'chai';

import { ApiLab, webDeployment } from '../../api-lab.testing.js';

const CANARY = 'hunter2hunter2';
const NUMBER = 7_318_008_431;
/** One of every type that JSON has, each with something in it that can be told again. */
const sent: readonly unknown[] = [CANARY, NUMBER, -0.318008431, [CANARY], { [CANARY]: CANARY }, [[NUMBER]], true, null];
const TOLD = /hunter2|318008431/;

/** What stands in these fields is no credential as long as it has their type: it is quoted, as everywhere else. */
const QUOTED: Readonly<Record<string, string>> = {
  phase: 'string',
  secret: 'string',
  name: 'string',
  vault_path: 'string',
  anchor: 'string',
  rotation: 'string',
  mount_path: 'string',
  bytes: 'number',
  length: 'number',
  encoding: 'string',
  charset: 'string',
};

const entry = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process' };
const recipe = { keys: ['password'], bytes: 32, encoding: 'hex' };
const GENERATE = ['keys', 'bytes', 'encoding', 'length', 'charset', 'nonsense'];

/** Requests that bring material, each with one field that something else was put into. */
const requests: readonly [
  name: string,
  method: string,
  path: string,
  fields: string[],
  make: (f: string, v: unknown) => unknown,
][] = [
  [
    'a secret write',
    'PUT',
    '/api/v1/secrets/deployments/web-db',
    ['values', 'generate', 'nonsense'],
    (field, value) => ({ values: { a: 'b' }, [field]: value }),
  ],
  [
    'its values',
    'PUT',
    '/api/v1/secrets/deployments/web-db',
    ['password', 'bad key'],
    (field, value) => ({ values: { [field]: value, other: '' } }),
  ],
  [
    'its recipe',
    'PUT',
    '/api/v1/secrets/deployments/web-db',
    GENERATE,
    (field, value) => ({ generate: { ...recipe, [field]: value } }),
  ],
  [
    'a recipe of two kinds',
    'PUT',
    '/api/v1/secrets/deployments/web-db',
    GENERATE,
    (field, value) => ({ generate: { ...recipe, length: 40, charset: 'symbols', [field]: value } }),
  ],
  [
    'a key of a recipe',
    'PUT',
    '/api/v1/secrets/deployments/web-db',
    ['keys'],
    (field, value) => ({ generate: { ...recipe, [field]: ['a', 'a', value] } }),
  ],
  [
    'a rotation',
    'POST',
    '/api/v1/deployments/web/secrets/rotate',
    ['phase', 'secret', 'values', 'generate', 'nonsense'],
    (field, value) => ({ phase: 'stage', [field]: value }),
  ],
  [
    'a rotation out of turn',
    'POST',
    '/api/v1/deployments/web/secrets/rotate',
    ['phase', 'secret', 'values', 'generate'],
    (field, value) => ({ phase: 'verify', [field]: value }),
  ],
  [
    'its values',
    'POST',
    '/api/v1/deployments/web/secrets/rotate',
    ['password', 'bad key'],
    (field, value) => ({ phase: 'stage', values: { [field]: value, other: '' } }),
  ],
  [
    'its recipe',
    'POST',
    '/api/v1/deployments/web/secrets/rotate',
    GENERATE,
    (field, value) => ({ phase: 'stage', generate: { ...recipe, [field]: value } }),
  ],
  [
    'a list of secrets',
    'POST',
    '/api/v1/deployments',
    ['secrets'],
    (field, value) => webDeployment('next', { [field]: value }),
  ],
  ['an entry of it', 'POST', '/api/v1/deployments', ['0'], (_, value) => webDeployment('next', { secrets: [value] })],
  [
    'its fields',
    'POST',
    '/api/v1/deployments',
    ['name', 'vault_path', 'anchor', 'rotation', 'mount_path', 'values', 'generate', 'nonsense'],
    (field, value) =>
      webDeployment('next', {
        secrets: [
          { ...entry, [field]: value },
          { ...entry, name: '' },
        ],
      }),
  ],
  [
    'its fields, where it is external',
    'POST',
    '/api/v1/deployments',
    ['values', 'generate'],
    (field, value) => webDeployment('next', { secrets: [{ ...entry, anchor: 'external', [field]: value }] }),
  ],
  [
    'its values',
    'POST',
    '/api/v1/deployments',
    ['password', 'bad key'],
    (field, value) => webDeployment('next', { secrets: [{ ...entry, values: { [field]: value, other: '' } }] }),
  ],
  [
    'its recipe',
    'POST',
    '/api/v1/deployments',
    GENERATE,
    (field, value) => webDeployment('next', { secrets: [{ ...entry, generate: { ...recipe, [field]: value } }] }),
  ],
];

describe('a value in the wrong field of a secret', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    await lab.ask('PUT', '/api/v1/secrets/deployments/web-db', { token, body: { values: { password: 'x' } } });
    const made = await lab.ask('POST', '/api/v1/deployments', {
      token,
      body: webDeployment('web', { secrets: [entry] }),
    });
    expect(made.status).to.equal(201);
  });
  after(() => lab.stop());

  for (const [name, method, path, fields, make] of requests) {
    it(`is not quoted: ${name} (${method} ${path})`, async () => {
      let refusals = 0;
      for (const field of fields) {
        for (const value of sent.filter(each => typeof each !== QUOTED[field])) {
          const answer = await lab.ask(method, `${path}?dryRun=true`, { token, body: make(field, value) });
          const rejections = (answer.body['rejections'] ?? []) as { received: string }[];
          refusals += rejections.length;
          expect(answer.status, answer.text).to.be.below(500);
          for (const { received } of rejections) {
            expect(received, `${field}: ${JSON.stringify(value)}`).not.to.match(TOLD);
          }
        }
      }
      expect(refusals).to.be.at.least(fields.length * 2);
    });
  }

  it('is quoted when it cannot be a credential', async () => {
    const secrets = [{ ...entry, vault_path: '/web-db', anchor: 'pod', generate: { ...recipe, encoding: 'rot13' } }];
    const { body } = await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment('next', { secrets }) });
    const rejections = body['rejections'] as { field: string; received: string }[];

    expect(Object.fromEntries(rejections.map(({ field, received }) => [field, received]))).to.deep.equal({
      'secrets[0].vault_path': '/web-db',
      'secrets[0].anchor': 'pod',
      'secrets[0].generate.encoding': 'rot13',
    });
  });
});
