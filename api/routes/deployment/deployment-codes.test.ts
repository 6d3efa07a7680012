import { change, describeCodes, toDryRun, web } from './rejection-lab.testing.js';

const check = (parts: Readonly<Record<string, unknown>>) =>
  web({ healthCheck: { type: 'exec', command: ['/bin/check'], ...parts } });
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

describeCodes('[7.2] deployment, name, image, replicas (7.1)', [
  {
    code: 'name_required',
    status: 422,
    cases: [
      ['[2.2.3 7.1.1] none', 'name', web({ name: undefined })],
      ['null', 'name', web({ name: null })],
      ['empty', 'name', web({ name: '' })],
    ],
  },
  {
    code: 'deployment_name_invalid',
    status: 422,
    cases: [
      ['[2.2.4 7.1.2] a capital letter', 'name', web({ name: 'Web' })],
      ['a digit first', 'name', web({ name: '1web' })],
      ['a hyphen last', 'name', web({ name: 'web-' })],
      ['a path', 'name', web({ name: '../etcd' })],
      ['a look-alike', 'name', web({ name: 'wеb' })],
      ['a space', 'name', web({ name: 'web x' })],
    ],
  },
  {
    code: 'deployment_name_too_long',
    status: 422,
    cases: [
      ['[2.2.5 7.1.3 8.1] one too many', 'name', web({ name: 'a'.repeat(64) })],
      ['far too many', 'name', web({ name: 'a'.repeat(1000) })],
      ['as many as a body holds', 'name', web({ name: 'a'.repeat(1_000_000) })],
    ],
  },
  {
    code: 'reserved_infrastructure_name',
    status: 422,
    cases: [
      ['[7.1.4] the database', 'name', web({ name: 'etcd' })],
      ['in a dry run', 'name', toDryRun(web({ name: 'etcd' }))],
      ['of a job', 'name', { ...web({ kind: 'Job', name: 'etcd' }), path: '/api/v1/jobs' }],
    ],
  },
  {
    code: 'deployment_not_found',
    status: 404,
    cases: [
      ['[4.8 7.1.5] a name', 'name', change('none', { replicas: 1 })],
      ['an id', 'deployment_id', change(`dep_${'1'.repeat(26)}`, { replicas: 1 })],
      ['another tenant’s', 'name', { ...change('db', { replicas: 1 }), as: 'bare' }],
      ['a name that is none', 'name', change('..%2e', { replicas: 1 })],
    ],
  },
  {
    code: 'manifest_wrong_kind',
    status: 422,
    cases: [
      ['[2.2.2 2.8.9 7.1.6] a job', 'kind', web({ kind: 'Job' })],
      ['none', 'kind', web({ kind: undefined })],
      ['in small letters', 'kind', web({ kind: 'deployment' })],
      ['a list', 'kind', web({ kind: ['Deployment'] })],
    ],
  },
  {
    code: 'image_required',
    status: 422,
    cases: [
      ['[2.2.10 7.1.7] none', 'image', web({ image: undefined })],
      ['[2.2.11] latest', 'image', web({ image: 'registry.example.com/web:latest' })],
      ['no tag', 'image', web({ image: 'registry.example.com/web' })],
      ['a number', 'image', web({ image: 7 })],
      ['an option', 'image', web({ image: '--privileged:1' })],
      ['a change to latest', 'image', change('db', { image: 'web:latest' })],
    ],
  },
  {
    code: 'image_not_found',
    status: 422,
    cases: [
      ['[7.1.8] a tag', 'image', web({ image: 'registry.example.com/gone:1' })],
      ['a digest', 'image', web({ image: `registry.example.com/gone@sha256:${'a'.repeat(64)}` })],
      ['a change', 'image', change('db', { image: 'registry.example.com/gone:2' })],
    ],
  },
  {
    code: 'registry_credential_store_unavailable',
    status: 503,
    cases: [
      ['[7.1.9] a new deployment', 'image', web({ image: 'registry.example.com/locked:1' })],
      ['a change', 'image', change('db', { image: 'registry.example.com/locked:1' })],
      ['a dry run', 'image', toDryRun(web({ image: 'registry.example.com/locked:1' }))],
    ],
  },
  {
    code: 'replicas_negative',
    status: 422,
    cases: [
      ['[2.2.16 7.1.13] one below', 'replicas', web({ replicas: -1 })],
      ['far below', 'replicas', web({ replicas: -1e15 })],
      ['a change', 'replicas', change('db', { replicas: -1 })],
    ],
  },
  {
    code: 'replicas_out_of_range',
    status: 422,
    cases: [
      ['[7.1.14] one above', 'replicas', web({ replicas: 101 })],
      ['[2.2.15 8.2] a fraction', 'replicas', web({ replicas: 1.5 })],
      ['a text', 'replicas', web({ replicas: '2' })],
      ['far above', 'replicas', web({ replicas: 9_000_000_000 })],
    ],
  },
  {
    code: 'plaintext_credential_in_environment',
    status: 422,
    cases: [
      ['[2.2.22 7.1.15] by its name', 'environment.DB_PASSWORD', web({ environment: { DB_PASSWORD: 'x' } })],
      ['by its name in camel case', 'environment.apiKey', web({ environment: { apiKey: 'x' } })],
      ['a token by its form', 'environment.SESSION', web({ environment: { SESSION: JWT } })],
      ['a URL with a password', 'environment.DB', web({ environment: { DB: 'postgres://a:secret@db/x' } })],
      ['a change', 'environment.API_TOKEN', change('db', { environment: { API_TOKEN: 'x' } })],
    ],
  },
  {
    code: 'secrets_version_negative',
    status: 422,
    cases: [
      ['[2.2.26 7.1.17 8.9] one below', 'secretsVersion', web({ secretsVersion: -1 })],
      ['far below', 'secretsVersion', web({ secretsVersion: -1e9 })],
      ['a change', 'secretsVersion', change('db', { secretsVersion: -2 })],
    ],
  },
]);

describeCodes('health check (7.2)', [
  {
    code: 'healthcheck_command_missing',
    status: 422,
    cases: [
      ['[2.3.4 7.2.1] none', 'healthCheck.command', check({ command: undefined })],
      ['empty', 'healthCheck.command', check({ command: [] })],
      ['of empty words', 'healthCheck.command', check({ command: [''] })],
    ],
  },
  {
    code: 'healthcheck_retries_below_floor',
    status: 422,
    cases: [
      ['[2.3.7 7.2.2 8.4] one below', 'healthCheck.retries', check({ retries: 2 })],
      ['none at all', 'healthCheck.retries', check({ retries: 0 })],
      ['negative', 'healthCheck.retries', check({ retries: -3 })],
    ],
  },
  {
    code: 'healthcheck_timeout_below_floor',
    status: 422,
    cases: [
      ['[2.3.10 7.2.3 8.3] just below', 'healthCheck.timeout', check({ timeout: '9999ms' })],
      ['nothing', 'healthCheck.timeout', check({ timeout: '0s' })],
      ['[2.3.11] unreadable', 'healthCheck.timeout', check({ timeout: 'soon' })],
      ['negative', 'healthCheck.timeout', check({ timeout: '-10s' })],
    ],
  },
  {
    code: 'healthcheck_type_inert',
    status: 422,
    cases: [
      ['[2.3.2 7.2.4] nothing in it', 'healthCheck.type', web({ healthCheck: {} })],
      ['none', 'healthCheck.type', check({ type: 'none' })],
      ['disabled', 'healthCheck.type', check({ type: 'disabled' })],
      ['the engine’s word for none', 'healthCheck.type', check({ command: ['NONE'] })],
    ],
  },
  {
    code: 'healthcheck_type_unsupported',
    status: 422,
    cases: [
      ['[2.3.1 7.2.5] http', 'healthCheck.type', check({ type: 'http' })],
      ['tcp', 'healthCheck.type', check({ type: 'tcp' })],
      ['in capitals', 'healthCheck.type', check({ type: 'EXEC' })],
    ],
  },
]);
