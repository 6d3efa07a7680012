import { expect } from 'chai';

import { listFaults, exampleFacts, full, least, limits } from './admit.testing.js';
import { admitCreate } from './admit.js';

const check = (fields: object) => ({ healthCheck: { type: 'exec', command: ['/bin/check'], ...fields } });
const long = 'a'.repeat(64);

/** One change to a sound document, and the one complaint it earns; none where it is accepted. */
const cases: ReadonlyArray<{ given: Record<string, unknown>; code?: string; field?: string }> = [
  { given: {} },
  { given: { kind: undefined }, code: 'manifest_wrong_kind', field: 'kind' },
  { given: { kind: null }, code: 'manifest_wrong_kind', field: 'kind' },
  { given: { kind: 'Job' }, code: 'manifest_wrong_kind', field: 'kind' },
  { given: { kind: 'deployment' }, code: 'manifest_wrong_kind', field: 'kind' }, // [2.2.1]
  { given: { kind: ['Deployment'] }, code: 'manifest_wrong_kind', field: 'kind' },

  { given: { name: undefined }, code: 'name_required', field: 'name' },
  { given: { name: null }, code: 'name_required', field: 'name' },
  { given: { name: '' }, code: 'name_required', field: 'name' },
  { given: { name: 'a' } },
  { given: { name: 'a'.repeat(63) } },
  { given: { name: long }, code: 'deployment_name_too_long', field: 'name' },
  { given: { name: 'Web' }, code: 'deployment_name_invalid', field: 'name' },
  { given: { name: '1web' }, code: 'deployment_name_invalid', field: 'name' },
  { given: { name: 'web-' }, code: 'deployment_name_invalid', field: 'name' },
  { given: { name: '../etcd' }, code: 'deployment_name_invalid', field: 'name' },
  { given: { name: `${long}_` }, code: 'deployment_name_invalid', field: 'name' },
  { given: { name: 7 }, code: 'deployment_name_invalid', field: 'name' },
  { given: { name: { toString: 'web' } }, code: 'deployment_name_invalid', field: 'name' },
  { given: { name: 'etcd' }, code: 'reserved_infrastructure_name', field: 'name' },
  { given: { name: 'etcd-2' } },

  { given: { image: undefined }, code: 'image_required', field: 'image' },
  { given: { image: '' }, code: 'image_required', field: 'image' },
  { given: { image: 'nginx' }, code: 'image_required', field: 'image' },
  { given: { image: 'nginx:latest' }, code: 'image_required', field: 'image' },
  { given: { image: 'UPPER/Case:1' }, code: 'image_required', field: 'image' },
  { given: { image: 5 }, code: 'image_required', field: 'image' },
  { given: { image: 'nginx:1.27' } },
  { given: { image: `nginx@sha256:${'0'.repeat(64)}` } },

  { given: { replicas: 0 } },
  { given: { replicas: 100 } },
  { given: { replicas: 101 }, code: 'replicas_out_of_range', field: 'replicas' },
  { given: { replicas: 1.5 }, code: 'replicas_out_of_range', field: 'replicas' },
  { given: { replicas: '2' }, code: 'replicas_out_of_range', field: 'replicas' },
  { given: { replicas: true }, code: 'replicas_out_of_range', field: 'replicas' },
  { given: { replicas: -1 }, code: 'replicas_negative', field: 'replicas' },
  { given: { replicas: -0.5 }, code: 'replicas_negative', field: 'replicas' },

  { given: { entrypoint: '/bin/web' }, code: 'field_invalid', field: 'entrypoint' },
  { given: { entrypoint: [] }, code: 'field_invalid', field: 'entrypoint' },
  { given: { command: ['a', 1] }, code: 'field_invalid', field: 'command[1]' },
  { given: { command: ['a\u0000b'] }, code: 'field_invalid', field: 'command[0]' },
  { given: { command: Array.from({ length: 257 }, () => 'x') }, code: 'field_invalid', field: 'command' },

  { given: { ports: [] } },
  { given: { ports: {} }, code: 'field_invalid', field: 'ports' },
  { given: { ports: [80] }, code: 'port_invalid', field: 'ports[0]' },
  { given: { ports: [{}] }, code: 'port_invalid', field: 'ports[0].containerPort' },
  { given: { ports: [{ containerPort: 0 }] }, code: 'port_invalid', field: 'ports[0].containerPort' },
  { given: { ports: [{ containerPort: 65_536 }] }, code: 'port_invalid', field: 'ports[0].containerPort' },
  { given: { ports: [{ containerPort: 80, hostPort: '80' }] }, code: 'port_invalid', field: 'ports[0].hostPort' },
  { given: { ports: [{ containerPort: 80, protocol: 'sctp' }] }, code: 'port_invalid', field: 'ports[0].protocol' },
  { given: { ports: [{ containerPort: 80, name: 'x' }] }, code: 'field_unknown', field: 'ports[0].name' },
  {
    given: { ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'tcp' }] },
    code: 'port_duplicate',
    field: 'ports[1].containerPort',
  },
  {
    given: {
      ports: [
        { containerPort: 53, protocol: 'udp' },
        { containerPort: 53, protocol: 'tcp' },
      ],
    },
  },
  {
    given: {
      ports: [
        { containerPort: 1, hostPort: 80 },
        { containerPort: 2, hostPort: 80 },
      ],
    },
    code: 'port_duplicate',
    field: 'ports[1].hostPort',
  },
  { given: { ports: [{ containerPort: 7070, hostPort: 7071 }, { containerPort: 2379 }] } },
  { given: { ports: [{ containerPort: 1, hostPort: 7070 }] }, code: 'host_port_reserved', field: 'ports[0].hostPort' },
  {
    given: { ports: [{ containerPort: 1 }, { containerPort: 2, hostPort: 2380, protocol: 'udp' }] },
    code: 'host_port_reserved',
    field: 'ports[1].hostPort',
  },

  { given: { nodeId: 'machine-1' } },
  { given: { nodeId: 'machine-9' }, code: 'node_not_a_placement_candidate', field: 'nodeId' },
  { given: { nodeId: 5 }, code: 'field_invalid', field: 'nodeId' },

  { given: { healthCheck: null } },
  { given: { healthCheck: {} }, code: 'healthcheck_type_inert', field: 'healthCheck.type' },
  { given: { healthCheck: { type: 'none' } }, code: 'healthcheck_type_inert', field: 'healthCheck.type' },
  { given: { healthCheck: { type: 'Disabled' } }, code: 'healthcheck_type_inert', field: 'healthCheck.type' },
  { given: { healthCheck: { type: '' } }, code: 'healthcheck_type_inert', field: 'healthCheck.type' },
  { given: { healthCheck: { command: ['NONE'] } }, code: 'healthcheck_type_inert', field: 'healthCheck.type' },
  { given: check({ command: ['NONE'] }), code: 'healthcheck_type_inert', field: 'healthCheck.type' },
  { given: check({ command: null }), code: 'healthcheck_command_missing', field: 'healthCheck.command' },
  {
    given: { environment: { URL: 'postgres://{{secret.web-db.user}}@db' } },
    code: 'secret_template_in_environment',
    field: 'environment.URL',
  },
  { given: { environment: { GREETING: 'hello {{name}}' } } },
  { given: check({ type: 'http' }), code: 'healthcheck_type_unsupported', field: 'healthCheck.type' },
  { given: { healthCheck: { type: 'tcp' } }, code: 'healthcheck_type_unsupported', field: 'healthCheck.type' },
  { given: check({ type: 'EXEC' }), code: 'healthcheck_type_unsupported', field: 'healthCheck.type' },
  { given: check({ type: 1 }), code: 'healthcheck_type_unsupported', field: 'healthCheck.type' },
  { given: { healthCheck: { type: 'exec' } }, code: 'healthcheck_command_missing', field: 'healthCheck.command' },
  { given: check({ command: [] }), code: 'healthcheck_command_missing', field: 'healthCheck.command' },
  { given: check({ command: ['  '] }), code: 'healthcheck_command_missing', field: 'healthCheck.command' },
  { given: { healthCheck: { command: [] } }, code: 'healthcheck_command_missing', field: 'healthCheck.command' },
  { given: check({ command: 'pg_isready' }), code: 'field_invalid', field: 'healthCheck.command' },
  { given: check({ command: [1] }), code: 'field_invalid', field: 'healthCheck.command[0]' },
  { given: check({ retries: 3 }) },
  { given: check({ retries: 2 }), code: 'healthcheck_retries_below_floor', field: 'healthCheck.retries' },
  { given: check({ retries: 0 }), code: 'healthcheck_retries_below_floor', field: 'healthCheck.retries' },
  { given: check({ retries: '5' }), code: 'healthcheck_retries_below_floor', field: 'healthCheck.retries' },
  { given: check({ retries: 1001 }), code: 'field_invalid', field: 'healthCheck.retries' },
  { given: check({ timeout: '10s' }) },
  { given: check({ timeout: '9999ms' }), code: 'healthcheck_timeout_below_floor', field: 'healthCheck.timeout' },
  { given: check({ timeout: 'soon' }), code: 'healthcheck_timeout_below_floor', field: 'healthCheck.timeout' },
  { given: check({ timeout: 30 }), code: 'healthcheck_timeout_below_floor', field: 'healthCheck.timeout' },
  { given: check({ timeout: '25h' }), code: 'field_invalid', field: 'healthCheck.timeout' },
  { given: check({ interval: '1s', startPeriod: '0s' }) },
  { given: check({ interval: '10ms' }), code: 'field_invalid', field: 'healthCheck.interval' },
  { given: check({ startPeriod: 5 }), code: 'field_invalid', field: 'healthCheck.startPeriod' },
  { given: check({ path: '/' }), code: 'field_unknown', field: 'healthCheck.path' },
  { given: { healthCheck: 'none' }, code: 'field_invalid', field: 'healthCheck' },

  { given: { environment: {} } },
  { given: { environment: ['A=B'] }, code: 'field_invalid', field: 'environment' },
  { given: { environment: { PORT: 8080 } }, code: 'field_invalid', field: 'environment.PORT' }, // [2.2.21]
  { given: { environment: { A: null } }, code: 'field_invalid', field: 'environment.A' },
  { given: { environment: { A: 'x\u0000y' } }, code: 'field_invalid', field: 'environment.A' },
  { given: { environment: { 'A\nB': 5 } }, code: 'field_invalid', field: 'environment.A\nB' },
  { given: { environment: { 'A\nB': 'x' } }, code: 'environment_name_invalid', field: 'environment.A\nB' },
  { given: { environment: { '1A': 'x' } }, code: 'environment_name_invalid', field: 'environment.1A' },
  { given: { environment: { 'A=B': 'x' } }, code: 'environment_name_invalid', field: 'environment.A=B' },
  { given: { environment: { '': 'x' } }, code: 'environment_name_invalid', field: 'environment.' },
  {
    given: { environment: { DB_PASSWORD: 'x' } },
    code: 'plaintext_credential_in_environment',
    field: 'environment.DB_PASSWORD',
  },

  { given: { secretsVersion: 0 } },
  { given: { secretsVersion: 7 } },
  { given: { secretsVersion: -1 }, code: 'secrets_version_negative', field: 'secretsVersion' },
  { given: { secretsVersion: '0' }, code: 'field_invalid', field: 'secretsVersion' },
  { given: { secretsVersion: 1.5 }, code: 'field_invalid', field: 'secretsVersion' },

  { given: { resources: { cpu: '1.5', memory: '1G' } } },
  { given: { resources: { cpu: 'half' } }, code: 'resources_quantity_invalid', field: 'resources.cpu' },
  { given: { resources: { cpu: '0' } }, code: 'resources_quantity_invalid', field: 'resources.cpu' },
  { given: { resources: { memory: '256MB' } }, code: 'resources_quantity_invalid', field: 'resources.memory' },
  { given: { resources: { disk: '1Gi' } }, code: 'field_unknown', field: 'resources.disk' },
  { given: { resources: [] }, code: 'field_invalid', field: 'resources' },
  { given: { resources: { cpu: '500m', limits: { cpu: '1', memory: '512Mi', pids: 256 } } } },
  {
    given: { resources: { limits: { cpu: 'half' } } },
    code: 'resources_quantity_invalid',
    field: 'resources.limits.cpu',
  },
  {
    given: { resources: { limits: { memory: '0' } } },
    code: 'resources_quantity_invalid',
    field: 'resources.limits.memory',
  },
  {
    given: { resources: { memory: '1Gi', limits: { memory: '512Mi' } } },
    code: 'resources_quantity_invalid',
    field: 'resources.limits.memory',
  },
  { given: { resources: { limits: { pids: 513 } } }, code: 'field_invalid', field: 'resources.limits.pids' },
  { given: { resources: { limits: { disk: '1Gi' } } }, code: 'field_unknown', field: 'resources.limits.disk' },
  { given: { user: '1000:1000' } },
  { given: { user: 'nobody' } },
  { given: { user: 'Root' }, code: 'field_invalid', field: 'user' },
  { given: { user: 'a:b:c' }, code: 'field_invalid', field: 'user' },
  { given: { user: 1000 }, code: 'field_invalid', field: 'user' },
  { given: { readOnlyRootFilesystem: true } },
  { given: { readOnlyRootFilesystem: 'yes' }, code: 'field_invalid', field: 'readOnlyRootFilesystem' },

  { given: { labels: { 'mooring.io/tenant': 'x' } }, code: 'label_reserved', field: 'labels.mooring.io/tenant' },
  { given: { labels: { 'MOORING.IO/x': 'x' } }, code: 'label_reserved', field: 'labels.MOORING.IO/x' },
  { given: { labels: { 'a.mooring.io/x': 'x' } }, code: 'label_reserved', field: 'labels.a.mooring.io/x' },
  { given: { labels: { 'com.docker.x': 'x' } }, code: 'label_reserved', field: 'labels.com.docker.x' },
  { given: { labels: { 'traefik.enable': 'true' } }, code: 'label_reserved', field: 'labels.traefik.enable' },
  { given: { labels: { 'not-mooring.io/x': 'x' } } },
  { given: { labels: { 'a b': 'x' } }, code: 'label_invalid', field: 'labels.a b' },
  { given: { labels: { team: 'a\nb' } }, code: 'label_invalid', field: 'labels.team' },
  { given: { labels: { 'a\nb': {} } }, code: 'label_invalid', field: 'labels.a\nb' },
  { given: { labels: { team: 5 } }, code: 'label_invalid', field: 'labels.team' },

  { given: { restartPolicy: 'Always' }, code: 'restart_policy_jobs_only', field: 'restartPolicy' },
  { given: { restartPolicy: 'Never' }, code: 'restart_policy_jobs_only', field: 'restartPolicy' },
  { given: { restartPolicy: null }, code: 'restart_policy_jobs_only', field: 'restartPolicy' },
  { given: { restartpolicy: 'Never' }, code: 'field_unknown', field: 'restartpolicy' },

  { given: { bogus: null }, code: 'field_unknown', field: 'bogus' },
  { given: { constructor: {} }, code: 'field_unknown', field: 'constructor' },
  {
    given: JSON.parse('{"__proto__": {"x": 1}}') as Record<string, unknown>,
    code: 'field_unknown',
    field: '__proto__',
  },
];

describe('admission of a new deployment', () => {
  for (const base of [least, full]) {
    describe(base === least ? 'with the least of fields' : 'with every field', () => {
      for (const { given, code, field } of cases) {
        it(`${code ?? 'accepts'}: ${JSON.stringify(given).slice(0, 80)}`, () => {
          const document = { ...base, ...given };
          expect(listFaults(admitCreate(document, exampleFacts, limits))).to.deep.equal(code ? [[code, field]] : []);
        });
      }
    });
  }

  for (const document of [null, undefined, [], 'web', 5, true]) {
    it(`refuses ${JSON.stringify(document)} as a whole`, () => {
      expect(listFaults(admitCreate(document, exampleFacts, limits))).to.deep.equal([['field_invalid', 'body']]);
    });
  }
});
