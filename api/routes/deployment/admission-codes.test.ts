import { change, describeCodes, entry, type RejectableRequest, toDryRun, web } from './rejection-lab.testing.js';

const secret = (body: unknown): RejectableRequest => ({
  method: 'PUT',
  path: '/api/v1/secrets/deployments/db-admin',
  body,
});
const rotate = (body: unknown): RejectableRequest => ({ path: '/api/v1/deployments/db/secrets/rotate', body });
const residency = { country: 'DE' };
const label = 'mooring.io/data-residency-country';
const exec = (command: unknown) => web({ healthCheck: { type: 'exec', command } });

describeCodes('one code for each cause', [
  {
    code: 'secret_write_empty',
    status: 422,
    cases: [
      ['values that are null', 'values', secret({ values: null })],
      ['a stage with an empty map', 'values', rotate({ phase: 'stage', values: {} })],
      ['a stage with values that are null', 'values', rotate({ phase: 'stage', values: null })],
    ],
  },
  {
    code: 'rotation_transition_invalid',
    status: 409,
    cases: [['the phase idle', 'phase', rotate({ phase: 'idle' })]],
  },
  {
    code: 'healthcheck_command_missing',
    status: 422,
    cases: [['a command that is null', 'healthCheck.command', exec(null)]],
  },
  {
    code: 'residency_label_conflict',
    status: 422,
    cases: [
      ['both forms, equal', 'placement.labels', web({ placement: { residency, labels: { [label]: 'DE' } } })],
      [
        'both forms, in a change',
        'placement.labels',
        change('cache', { placement: { residency, labels: { [label]: 'DE' } } }),
      ],
    ],
  },
  {
    code: 'secret_template_in_environment',
    status: 422,
    cases: [
      ['a template', 'environment.URL', web({ environment: { URL: '{{secret.web-db.user}}' }, secrets: [entry()] })],
      ['a template in a dry run', 'environment.URL', toDryRun(web({ environment: { URL: 'a{{secret.x.y}}b' } }))],
    ],
  },
  {
    code: 'plaintext_credential_in_environment',
    status: 422,
    cases: ['DB_PASS', 'MYSQL_PWD', 'PASSPHRASE', 'password1', 'pAsSwOrD'].map(
      name => [name, `environment.${name}`, web({ environment: { [name]: 'hunter2' } })] as const,
    ),
  },
  {
    code: 'field_invalid',
    status: 422,
    cases: [
      ['a list in place of a deployment', 'body', { body: [] }],
      ['null in place of a deployment', 'body', { body: null }],
      ['a dependency that is no name', 'dependsOn[0].name', web({ dependsOn: [{ name: 'a/b' }] })],
    ],
  },
  {
    code: 'query_parameter_unknown',
    status: 400,
    cases: [['one without a name', 'query', { method: 'GET', path: '/api/v1/deployments?=x' }]],
  },
]);

describeCodes(
  'a target without a health check, after a deployment that waits for it to be healthy',
  [
    {
      code: 'health_check_needed',
      status: 422,
      cases: [['created', 'healthCheck', web({ name: 'later' })]],
    },
  ],
  { waitedFor: 'later' },
);
