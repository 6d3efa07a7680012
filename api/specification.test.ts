import { expect } from 'chai';

import { keys } from '../crds/keys/index.js';
import type { StoredNode } from '../crds/node/index.js';
import { defaultRegions } from '../crds/residency/index.js';
import { toCredentialPath } from '../pkg/secrets/index.js';
import { create, value } from '../pkg/store/index.js';
import { ApiLab, type LabOptions, type LabResponse, webDeployment } from './api-lab.testing.js';

interface Noted {
  readonly code: string;
  readonly field: string;
  readonly message: string;
  readonly advertised?: readonly string[];
}

/** Sentences of the specification that are about one request, and that no other test says. */
describe('the specification, over HTTP:', () => {
  let lab: ApiLab;
  let token: string;
  const start = async (options: LabOptions = {}) => {
    lab = await new ApiLab(options).start();
    token = await lab.tenantToken(lab.a);
  };
  afterEach(() => lab.stop());

  const post = (name: string, more: Readonly<Record<string, unknown>> = {}) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name, more) });
  const put = (name: string, body: unknown) => lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body });
  const get = (path: string) => lab.ask('GET', `/api/v1/${path}`, { token });
  const write = (path: string, body: unknown) => lab.ask('PUT', `/api/v1/secrets/${path}`, { token, body });
  const accepted = (answer: LabResponse, status = 201) => {
    expect(answer.status, answer.text).to.equal(status);
    return answer.body;
  };
  const warnings = ({ body }: LabResponse) => body['warnings'] as readonly Noted[];

  /** A node that sends heartbeats. */
  const node = async (name: string, labels: Readonly<Record<string, string>>, tenant = lab.a) => {
    const id = `node_${name.padEnd(26, '0')}`;
    const record: StoredNode = {
      metadata: { tenant, uid: id, generation: 1, createdAt: '', updatedAt: '', specHash: '' },
      id,
      name,
      labels,
      capacity: { cpu: 4000, memory: 2 ** 33, disk: 2 ** 36 },
      publicKey: '',
      controlPlane: false,
      agentVersion: '0',
    };
    await create(lab.store, keys.node(tenant, name), record);
    await create(lab.store, keys.alive(tenant, name), { id, lease: '0', since: '' });
    await lab.cache.barrier();
  };

  describe('a rejection', () => {
    it('[2.1.1 2.1.2 2.1.3 2.1.4 2.1.5 7.1] has code, field, received, expected, why and doc, each of them a string', async () => {
      await start();
      const refused = await post('web', { replicas: -1, healthCheck: { type: 'exec', command: ['x'], timeout: '1s' } });
      const records = [refused.body, ...(refused.body['rejections'] as Record<string, unknown>[])];

      expect(records).to.have.length(3);
      for (const record of records) {
        for (const part of ['code', 'field', 'received', 'expected', 'why', 'doc']) {
          expect(record[part], part).to.be.a('string').with.length.above(0);
        }
      }
      expect(refused.body).to.include({ field: 'replicas', received: '-1' });
      expect(records[2]).to.include({ field: 'healthCheck.timeout', received: '1s' });
    });

    it('[2.1.6] links to a page of reference documentation that is there', async () => {
      await start();
      const { body } = await post('web', { replicas: -1 });
      const page = await fetch(body['doc'] as string);

      expect(page.status).to.equal(200);
      expect(await page.text()).to.include('replicas_negative');
    });

    it('[4.1] is a JSON body, as every answer is', async () => {
      await start();
      const answers = [await post('web'), await get('deployments'), await post('web', { replicas: -1 })];
      const types = answers.map(({ headers }) => headers.get('content-type')?.split(';')[0]);

      expect(types).to.deep.equal(Array(3).fill('application/json'));
    });
  });

  describe('a deployment', () => {
    it('[2.2.4 2.2.5 2.2.9 8.1] may have a name of 63 letters, digits and hyphens, which is a segment of its key verbatim', async () => {
      await start();
      const name = `a-1${'x'.repeat(59)}9`;
      accepted(await post(name));

      expect(name).to.have.length(63);
      const entry = await lab.store.get(keys.deployment(lab.a, name));
      expect(entry?.key.split('/').at(-1)).to.equal(name);
      expect((await get(`deployments/${name}`)).body['name']).to.equal(name);
    });

    it('[2.2.13 7.3 8.2] has replicas from 0 to max_replicas_per_deployment, which is configuration', async () => {
      await start({ settings: { maxReplicasPerDeployment: 7 } });
      for (const replicas of [0, 7])
        expect(accepted(await post(`of-${replicas}`, { replicas }))).to.include({ replicas });
      const before = await lab.store.revision();
      const refused = await post('of-8', { replicas: 8 });

      expect(refused.body).to.include({ code: 'replicas_out_of_range', field: 'replicas' });
      expect(refused.body['expected']).to.include('7');
      expect(await lab.store.revision()).to.equal(before);
    });

    it('[2.2.14 3.12] is not deleted by replicas 0', async () => {
      await start();
      await post('web');
      accepted(await put('web', { replicas: 0 }), 200);
      const { status, body } = await get('deployments/web');

      expect([status, body['replicas']]).to.deep.equal([200, 0]);
      expect(body['metadata']).to.not.have.property('deletedAt');
    });

    it('[2.2.24] has secretsVersion 0 when it is new, whatever was sent, and says so', async () => {
      await start();
      const body = accepted(await post('web', { secretsVersion: 7 }));
      const told = (body['alterations'] as { field: string; from: unknown; to: unknown }[]).find(
        ({ field }) => field === 'secretsVersion',
      );

      expect(body['secretsVersion']).to.equal(0);
      expect(told).to.include({ from: 7, to: 0 });
    });

    it('[2.3.7 2.3.8 2.3.10] may have a health check at the floors of retries and timeout, or leave both to the runtime', async () => {
      await start();
      const check = { type: 'exec', command: ['/bin/check', '--fast'] };
      const atFloor = { ...check, retries: 3, timeout: '10s' };
      accepted(await post('floor', { healthCheck: atFloor }));
      accepted(await post('bare', { healthCheck: check }));

      expect((await get('deployments/floor')).body['healthCheck']).to.deep.equal(atFloor);
      expect((await get('deployments/bare')).body['healthCheck']).to.deep.equal(check);
    });

    it('[7.1.16] with a credential in its environment is told to refer to deployments/<name> in a secrets entry', async () => {
      await start();
      const refused = await post('shop', { environment: { DB_PASSWORD: 'correct horse' } });

      expect(refused.body).to.include({ field: 'environment.DB_PASSWORD' });
      expect(refused.body['expected']).to.include('vault_path').and.to.include('deployments/shop');
      expect(refused.text).to.not.include('correct horse');
    });

    it('[4.2] is listed among those of its tenant, and never replaces one when it is created again', async () => {
      await start();
      for (const name of ['web', 'db']) await post(name);
      const again = await post('web', { replicas: 9 });
      const { body } = await get('deployments');

      expect(again.status).to.equal(409);
      const items = body['items'] as { name: string; replicas: number }[];
      expect(items.map(({ name, replicas }) => [name, replicas])).to.deep.equal([
        ['db', 2],
        ['web', 2],
      ]);
    });

    it('[4.8] is never created by PUT', async () => {
      await start();
      const before = await lab.store.revision();
      const refused = await put('web', webDeployment('web'));

      expect(refused.body).to.include({ code: 'deployment_not_found', field: 'name' });
      expect(await lab.store.revision()).to.equal(before);
    });
  });

  describe('residency', () => {
    const stored: readonly [part: string, residency: object, label: string, text: string][] = [
      ['country', { country: 'DE' }, 'mooring.io/data-residency-country', 'DE'], // [2.7.1]
      ['region', { region: 'eu' }, 'mooring.io/data-residency-region', 'eu'], // [2.7.2]
      ['blockedCountries', { blockedCountries: ['US', 'CN'] }, 'mooring.io/blocked-countries', 'US,CN'], // [2.7.3]
    ];
    for (const [part, residency, label, text] of stored) {
      it(`[2.7.8] placement.residency.${part} is stored as the label ${label}`, async () => {
        await start();
        accepted(await post('web', { placement: { residency } }));
        const entry = await lab.store.get(keys.deployment(lab.a, 'web'));
        const { placement } = value<{ placement: object }>(entry!);

        expect(placement).to.deep.equal({ residency, labels: { [label]: text } });
        expect((await get('deployments/web')).body['placement']).to.deep.equal(placement);
      });
    }

    it('[2.7.12] by a hand-written label is refused with the typed block of the submitted values', async () => {
      await start();
      const labels = { 'mooring.io/data-residency-country': 'DE' };
      const refused = await post('web', { labels });
      const [first] = refused.body['rejections'] as [{ fix: object[]; expected: string }];

      expect(refused.body['code']).to.equal('residency_label_handwritten');
      expect(first.fix).to.deep.include({ op: 'add', path: '/placement', value: { residency: { country: 'DE' } } });
      expect(first.expected).to.include('residency').and.to.include('DE');
    });

    it('[2.7.14] in a region that is not declared is refused, and the declared names are listed', async () => {
      await start();
      const { body } = await post('web', { placement: { residency: { region: 'mars' } } });

      expect(body['code']).to.equal('residency_region_unknown');
      for (const { name } of defaultRegions) expect(body['expected']).to.include(name);
    });

    it('[2.7.15 4.26] that is not enforced is stored, and the answer says that enforcement is off', async () => {
      await start({ settings: { residencyEnforcement: false } });
      await node('berlin', { 'mooring.io/country': 'DE' });
      const answer = await post('web', { placement: { residency: { country: 'DE' } } });

      accepted(answer);
      expect(warnings(answer).map(({ code, field }) => [code, field])).to.deep.equal([
        ['residency_enforcement_off', 'placement.residency'],
      ]);
      expect((await get('scheduler/regions')).body['enforcement']).to.equal(false);
    });

    it('[2.7.16 2.7.17] that no reachable node advertises is stored, and the answer lists what the nodes advertise', async () => {
      await start();
      await node('paris', { 'mooring.io/country': 'FR' });
      await node('vienna', { 'mooring.io/country': 'AT' });
      await node('elsewhere', { 'mooring.io/country': 'JP' }, lab.b);
      const answer = await post('web', { placement: { residency: { country: 'DE' } } });

      accepted(answer);
      const [warning] = warnings(answer);
      expect(warning?.code).to.equal('residency_no_matching_node');
      expect(warning?.advertised?.toSorted()).to.deep.equal(['AT', 'FR']);
    });
  });

  describe('a secret', () => {
    const material = async (path: string, key: string) => {
      const reading = await lab.secrets.read(toCredentialPath(lab.a, path));
      return (reading.kind === 'found' && reading.document.get(key)?.reveal()) || '';
    };

    it('[2.4.9 2.5.6 4.28 4.29 8.7] is written with values or with generate, and generated by 32 random bytes unless it says otherwise', async () => {
      await start();
      accepted(await write('deployments/one', { values: { password: 'a value' } }));
      accepted(await write('resources/two', { generate: { keys: ['password'] } }));

      expect(await material('deployments/one', 'password')).to.equal('a value');
      expect(Buffer.from(await material('resources/two', 'password'), 'base64url')).to.have.length(32);
    });

    for (const [encoding, form] of [
      ['hex', /^[0-9a-f]{64}$/],
      ['base64', /^[A-Za-z0-9+/]{43}=$/],
      ['base64url', /^[A-Za-z0-9_-]{43}$/],
    ] as const) {
      it(`[2.5.8] is rendered as ${encoding}, one of three encodings`, async () => {
        await start();
        accepted(await write('deployments/one', { generate: { keys: ['key'], bytes: 32, encoding } }));

        expect(await material('deployments/one', 'key')).to.match(form);
      });
    }

    for (const [charset, form] of [
      ['alphanumeric', /^[A-Za-z0-9]{40}$/],
      ['urlsafe', /^[A-Za-z0-9_-]{40}$/],
      ['symbols', /^[A-Za-z0-9\-._~!*+,=]{40}$/],
    ] as const) {
      it(`[2.5.12] is drawn from ${charset}, one of three alphabets`, async () => {
        await start();
        accepted(await write('deployments/one', { generate: { keys: ['key'], length: 40, charset } }));

        expect(await material('deployments/one', 'key')).to.match(form);
      });
    }

    it('[2.4.21 8.5] may have a value as long as the byte limit', async () => {
      await start();
      accepted(await write('deployments/one', { values: { key: 'x'.repeat(65_536) } }));

      expect(await material('deployments/one', 'key')).to.have.length(65_536);
    });

    it('[2.4.7 8.8] has a path with a label of 1 to 63 characters', async () => {
      await start();
      for (const label of ['a', 'x'.repeat(63)]) {
        accepted(await write(`deployments/${label}`, { values: { key: 'x' } }));
        const secrets = [{ name: 'A', vault_path: `deployments/${label}`, anchor: 'process' }];
        accepted(await post(`of-${label.length}`, { secrets }));
      }
    });

    it('[4.11] is listed with every path that deployments of the tenant refer to, and with none of another tenant', async () => {
      await start();
      const refer = (...paths: string[]) => ({
        secrets: paths.map((vault_path, position) => ({ name: `S${position}`, vault_path, anchor: 'process' })),
      });
      const theirs = await lab.tenantToken(lab.b);
      await post('web', refer('deployments/web-db', 'resources/mail'));
      await post('worker', refer('resources/mail'));
      const body = webDeployment('web', refer('deployments/theirs'));
      await lab.ask('POST', '/api/v1/deployments', { token: theirs, body });
      const items = (await get('secrets/resources')).body['items'] as { path: string; deployments: string[] }[];

      expect(items.map(({ path, deployments }) => [path, ...deployments])).to.have.deep.members([
        ['deployments/web-db', 'web'],
        ['resources/mail', 'web', 'worker'],
      ]);
    });
  });
});
