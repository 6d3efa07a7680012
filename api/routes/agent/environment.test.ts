import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { Tickets } from '../../../pkg/link/index.js';
import { systemRandom } from '../../../pkg/clock/index.js';
import { toCredentialPath, toSecretDocument } from '../../../pkg/secrets/index.js';
import { create, value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';

const PATH = 'deployments/web-db';
const VALUE = 'correct-horse-battery';
const NODE = 'node_1';

describe('the secret environment of a container, over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  let tickets: Tickets;

  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = (await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'n1' })).text;
    tickets = new Tickets({ keyring: lab.keyring, clock: lab.clock, random: systemRandom });
    const document = toSecretDocument({ password: VALUE });
    await lab.secrets.write(toCredentialPath(lab.a, PATH), { document, after: 0, as: 'current' });
    await create(lab.store, keys.replica(lab.a, 'web', 0), replica({}));
  });
  afterEach(() => lab.stop());

  const replica = (change: Partial<Replica>): Replica => ({
    uid: 'rep_1',
    tenant: lab.a,
    deployment: 'web',
    deploymentUid: 'dep_1',
    slot: 0,
    generation: 1,
    templateHash: 'h',
    template: { image: 'web:1', secrets: [{ name: 'DB', vault_path: PATH }], secretsVersion: 0 },
    nodeId: NODE,
    resolved: { versions: { [PATH]: 1 }, at: '' },
    createdAt: '',
    ...change,
  });
  const ticket = (node = NODE) => tickets.issue({ tenant: lab.a, id: node }, replica({}));
  const ask = (body: unknown, by = token) => lab.ask('POST', '/agent/v1/environment', { token: by, body });
  const request = (change: Readonly<Record<string, unknown>> = {}) => ({
    replica: 'rep_1',
    generation: 1,
    ticket: ticket(),
    ...change,
  });

  it('is answered, and appears in no log, record or metric', async () => {
    const sent = request();
    const first = await ask(sent);
    expect([first.status, first.body]).to.deep.equal([200, { environment: { DB_password: VALUE } }]);
    expect(first.headers.get('cache-control')).to.equal('no-store');

    const second = await ask(sent);
    expect([second.status, second.body['code']]).to.deep.equal([409, 'delivery_ticket_used']);
    expect(second.text).not.to.contain(VALUE);
    const events = (await lab.store.list(ranges.of(ranges.events, lab.a))).entries.map(entry =>
      value<StoredEvent>(entry),
    );
    expect(events.map(({ type }) => type)).to.deep.equal(['secret.delivery_repeated']);
  });

  const refusals: readonly [
    name: string,
    change: () => Readonly<Record<string, unknown>>,
    code: string,
    status: number,
  ][] = [
    ['another replica', () => ({ replica: 'rep_2' }), 'environment_not_own', 403],
    ['another generation', () => ({ generation: 2 }), 'environment_not_own', 403],
    ['a ticket of another node', () => ({ ticket: ticket('node_2') }), 'delivery_ticket_invalid', 409],
    ['no ticket', () => ({ ticket: undefined }), 'field_invalid', 422],
    ['more than is known', () => ({ all: true }), 'field_unknown', 422],
  ];
  for (const [name, change, code, status] of refusals) {
    it(`is refused for ${name}`, async () => {
      const answer = await ask(request(change()));
      expect([answer.status, answer.body['code']]).to.deep.equal([status, code]);
      expect(answer.text).not.to.contain(VALUE);
    });
  }

  it('[3.14] is refused whole when one secret is missing', async () => {
    await lab.secrets.delete(toCredentialPath(lab.a, PATH));
    expect((await ask(request())).body['code']).to.equal('secrets_unresolved');
  });

  it('is answered to the token of the node only', async () => {
    const foreign = (await lab.token({ kind: 'node', tenant: lab.b, node: NODE, nodeName: 'n1' })).text;
    const other = (await lab.token({ kind: 'node', tenant: lab.a, node: 'node_2', nodeName: 'n2' })).text;
    for (const by of [await lab.tenantToken(lab.a), await lab.tenantToken(lab.a, 'viewer')]) {
      expect((await ask(request(), by)).body['code']).to.equal('auth_forbidden');
    }
    for (const by of [foreign, other]) expect((await ask(request(), by)).body['code']).to.equal('environment_not_own');
  });
});
