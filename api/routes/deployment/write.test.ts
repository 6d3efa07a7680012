import { expect } from 'chai';

import { deploymentSchema } from '../../../crds/deployment/index.js';
import { type LabResponse, webDeployment } from '../../api-lab.testing.js';
import { RejectionLab, entry, machine1, machine2, ready } from './rejection-lab.testing.js';

/** Two values of a field, as they are stored; what it falls back to without one; and what else it needs. */
interface FieldCase {
  readonly field: string;
  readonly values: readonly [first: unknown, second: unknown];
  readonly fallback?: unknown;
  readonly beside?: Readonly<Record<string, unknown>>;
}

const check = { type: 'exec', command: ['/bin/check'], retries: 3, timeout: '10s', interval: '5s', startPeriod: '10s' };
const mount = { volumeId: ready, type: 'volume', mountPath: '/data', readOnly: true };
const secret = entry({ rotation: 'restart' });
const rollout = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '10m', autoRollback: true };
const onFast = { constraints: [{ key: 'disk', operator: 'In', values: ['nvme'] }] };
const onDisks = { constraints: [{ key: 'disk', operator: 'In', values: ['ssd'] }] };

const cases: readonly FieldCase[] = [
  { field: 'replicas', values: [2, 3], fallback: 1 },
  { field: 'entrypoint', values: [['/bin/web'], ['/bin/other']] },
  { field: 'command', values: [['--port', '8080'], ['--verbose']] },
  {
    field: 'ports',
    values: [[{ containerPort: 8080, protocol: 'tcp' }], [{ containerPort: 53, hostPort: 53, protocol: 'udp' }]],
  },
  { field: 'nodeId', values: [machine1, machine2] },
  { field: 'healthCheck', values: [check, { ...check, retries: 5 }] },
  { field: 'environment', values: [{ MODE: 'a', LEVEL: 'b' }, { MODE: 'c' }] },
  { field: 'secrets', values: [[secret], [{ ...secret, name: 'OTHER', anchor: 'external' }]] },
  {
    field: 'composedSecrets',
    values: [{ URL: 'db://{{secret.web-db.user}}' }, { DSN: 'db://{{secret.web-db.password}}' }],
    beside: { secrets: [secret] },
  },
  { field: 'volumes', values: [[mount], [{ ...mount, mountPath: '/srv', subPath: 'web' }]] }, // [3.19]
  { field: 'networks', values: [['backend'], []] },
  { field: 'resources', values: [{ cpu: '500m', memory: '256Mi' }, { cpu: '1' }] },
  { field: 'placement', values: [onDisks, onFast] },
  { field: 'dependsOn', values: [[{ name: 'db', condition: 'healthy' }], [{ name: 'cache', condition: 'started' }]] },
  { field: 'rollout', values: [rollout, { ...rollout, maxSurge: 2, canary: { replicas: 1, hold: '5m' } }] },
  { field: 'stopGracePeriod', values: ['30s', '1m'] },
  { field: 'preStop', values: [['/bin/drain'], ['/bin/sleep', '1']] },
  { field: 'restartedAt', values: ['2026-01-31T12:00:00Z', '2026-01-31T12:00:01Z'] },
  { field: 'user', values: ['1000:1000', '2000'] },
  { field: 'readOnlyRootFilesystem', values: [true, false] },
  { field: 'labels', values: [{ team: 'shop', tier: 'front' }, { team: 'mail' }] },
];

/** Everything else that the deployment says: it must stay. */
function others({ body }: LabResponse, field: string): Readonly<Record<string, unknown>> {
  const aside = new Set([field, 'image', 'metadata', 'status', 'alterations', 'warnings']);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !aside.has(name)));
}

const readMetadata = ({ body }: LabResponse) =>
  body['metadata'] as { readonly generation: number; readonly revision: string };

describe('a change of a deployment over HTTP', () => {
  const rejectionLab = new RejectionLab();
  let token: string;
  before(async () => {
    await rejectionLab.start();
    token = await rejectionLab.lab.tenantToken(rejectionLab.lab.a);
  });
  after(() => rejectionLab.stop());

  const put = (name: string, body: unknown, ifMatch?: string) =>
    rejectionLab.lab.ask('PUT', `/api/v1/deployments/${name}`, {
      token,
      body,
      ...(ifMatch !== undefined && { headers: { 'if-match': `"${ifMatch}"` } }),
    });

  it('is tested for every field that may be left out', () => {
    // The version of secrets is raised by rotations alone: see below.
    expect([...cases.map(({ field }) => field), 'secretsVersion']).to.have.members(
      Object.keys(deploymentSchema.properties).filter(field => !deploymentSchema.required.includes(field as never)),
    );
  });

  for (const { field, values, fallback, beside } of cases) {
    const [first, second] = values;

    it(`[4.7] keeps ${field} unsent, replaces it sent, removes it by null, and does each once`, async () => {
      const name = `of-${field.toLowerCase()}`;
      const base = { labels: { kept: 'yes' }, environment: { KEPT: 'yes' }, ...beside };
      const body = webDeployment(name, { ...base, [field]: first });
      const created = await rejectionLab.lab.ask('POST', '/api/v1/deployments', { token, body });
      expect(created.status, created.text).to.equal(201);
      const expected = (answer: LabResponse, value: unknown, generation: number) => {
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.body[field]).to.deep.equal(value);
        expect(others(answer, field)).to.deep.equal(others(created, field));
        expect(readMetadata(answer).generation).to.equal(generation);
      };

      expected(await put(name, { image: 'registry.example.com/shop/web:1.4.3' }), first, 2);
      const replaced = await put(name, { [field]: second });
      expected(replaced, second, 3);
      const repeated = await put(name, { [field]: second });
      expected(repeated, second, 3);
      expect(readMetadata(repeated).revision).to.equal(readMetadata(replaced).revision);

      const late = await put(name, { [field]: null }, readMetadata(created).revision);
      expect([late.status, late.body['code']]).to.deep.equal([412, 'revision_mismatch']);
      expected(await put(name, {}), second, 3);
      expected(await put(name, { [field]: null }, readMetadata(replaced).revision), fallback, 4);
      expected(await put(name, { [field]: null }), fallback, 4);
    });
  }

  for (const sent of [null, 0, 7]) {
    it(`[2.2.25] leaves secretsVersion to rotations when it is sent as ${sent}`, async () => {
      const name = `version-${sent}`;
      await rejectionLab.lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name) });
      const answer = await put(name, { secretsVersion: sent });

      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body['secretsVersion']).to.equal(0);
      expect(readMetadata(answer).generation).to.equal(1);
    });
  }
});
