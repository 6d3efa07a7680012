import fc from 'fast-check';

import { exampleVolumes } from '../rejections/index.js';
import { exampleFacts, machine2 } from './admit.testing.js';

const word = fc.stringMatching(/^[A-Za-z0-9 ./:=-]{1,20}$/).filter(text => text.trim() !== '');
const words = fc.array(word, { minLength: 1, maxLength: 4 });
const duration = (least: number, most: number) => fc.integer({ min: least, max: most }).map(seconds => `${seconds}s`);
const nodes = exampleFacts.nodes === 'unreadable' ? [] : exampleFacts.nodes;

const port = fc.record(
  {
    containerPort: fc.integer({ min: 1, max: 65_535 }),
    hostPort: fc.integer({ min: 8_000, max: 65_535 }), // below lie the reserved ones
    protocol: fc.constantFrom('tcp', 'udp'),
  },
  { requiredKeys: ['containerPort'], noNullPrototype: true },
);

/** Ports that differ in both numbers, so that none can stand twice. */
const ports = fc.uniqueArray(port, {
  maxLength: 4,
  comparator: (a, b) => a.containerPort === b.containerPort || (a.hostPort !== undefined && a.hostPort === b.hostPort),
});

const healthCheck = fc.record(
  {
    type: fc.constant('exec'),
    command: words.filter(([first]) => first !== 'NONE'),
    retries: fc.integer({ min: 3, max: 1000 }),
    timeout: duration(10, 3600),
    interval: duration(1, 3600),
    startPeriod: duration(0, 3600),
  },
  { requiredKeys: ['command'], noNullPrototype: true },
);

/** Two credentials of the same deployment, under names that no variable of `environment` has. */
const secretEntry = (name: string, label: string) =>
  fc.record(
    {
      name: fc.constant(name),
      vault_path: fc.constantFrom(`deployments/${label}`, `resources/${label}`),
      anchor: fc.constant('process'),
      rotation: fc.constant('restart'),
      values: fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), word, { noNullPrototype: true }),
      generate: fc.record(
        {
          keys: fc.uniqueArray(fc.stringMatching(/^G_[a-z]{1,6}$/), { minLength: 1, maxLength: 3 }),
          bytes: fc.integer({ min: 16, max: 2048 }),
          encoding: fc.constantFrom('hex', 'base64', 'base64url'),
        },
        { requiredKeys: ['keys'], noNullPrototype: true },
      ),
    },
    { requiredKeys: ['name', 'vault_path', 'anchor'], noNullPrototype: true },
  );

const secrets = fc.tuple(secretEntry('ONE', 'first'), secretEntry('TWO', 'second')).map(pair => [...pair]);

const composedSecrets = fc.dictionary(
  fc.stringMatching(/^URL_[A-Z]{1,6}$/),
  fc.tuple(word, word).map(([before, after]) => `${before}{{secret.first.key}}${after}{{secret.second.other}}`),
  { noNullPrototype: true },
);

/** Read-only mounts of different volumes, by either name of the id. */
const mount = fc
  .record(
    {
      id: fc.constantFrom(exampleVolumes.ready, exampleVolumes.writtenByOther),
      isAlias: fc.boolean(),
      type: fc.constant('volume'),
      mountPath: fc.stringMatching(/^\/[a-z]{1,8}$/),
      subPath: fc.stringMatching(/^[a-z]{1,8}$/),
    },
    { requiredKeys: ['id', 'isAlias', 'mountPath'], noNullPrototype: true },
  )
  .map(({ id, isAlias, ...rest }) => ({ [isAlias ? 'volume_id' : 'volumeId']: id, ...rest, readOnly: true }));

const volumes = fc.uniqueArray(mount, { maxLength: 3, selector: ({ mountPath }) => mountPath });

const countries = fc.constantFrom('DE', 'fr', 'Us', 'JP');

const placement = fc.record(
  {
    residency: fc.record(
      {
        country: countries,
        region: fc.constantFrom('eu', 'us', 'apac'),
        blockedCountries: fc.uniqueArray(countries, { maxLength: 3 }),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    constraints: fc.array(
      fc.oneof(
        fc.constant({ key: 'disk', operator: 'In', values: ['ssd'] }),
        fc.constantFrom('Exists', 'DoesNotExist').map(operator => ({ key: 'gpu', operator })),
      ),
      { maxLength: 3 },
    ),
    antiAffinity: fc.record(
      { self: fc.constant(true), deployments: fc.constant(['db']), topologyKey: fc.constantFrom('node', 'rack') },
      { requiredKeys: ['self'], noNullPrototype: true },
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
);

const dependency = fc.record(
  { name: fc.constantFrom('db', 'not-yet', 'later-on'), condition: fc.constantFrom('healthy', 'started') },
  { requiredKeys: ['name'], noNullPrototype: true },
);

const dependsOn = fc.oneof(
  fc.uniqueArray(dependency, { maxLength: 3, selector: ({ name }) => name }),
  fc.constant({ db: 'healthy', 'not-yet': 'started' }),
);

const rollout = fc.record(
  {
    maxSurge: fc.oneof(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 100 }).map(share => `${share}%`),
    ),
    maxUnavailable: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constant('25%')),
    paused: fc.boolean(),
    progressDeadline: duration(10, 3600),
    autoRollback: fc.boolean(),
    canary: fc.record(
      { replicas: fc.integer({ min: 1, max: 9 }), hold: duration(1, 3600) },
      { requiredKeys: ['replicas'], noNullPrototype: true },
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** Templates need both credentials, so they come together. */
const composition = fc.oneof(
  fc.constant({}),
  secrets.map(entries => ({ secrets: entries })),
  fc.record({ secrets, composedSecrets }),
);

const document = fc.record(
  {
    kind: fc.constant('Deployment'),
    name: fc
      .stringMatching(/^[a-z](?:[a-z0-9-]{0,20}[a-z0-9])?$/)
      .filter(name => !['etcd', 'db', 'web', 'not-yet', 'later-on'].includes(name)),
    image: fc.stringMatching(/^[a-z0-9]{1,8}\.example(?::[0-9]{2,4})?\/[a-z0-9]{1,8}:v[A-Za-z0-9._-]{1,12}$/),
    replicas: fc.integer({ min: 0, max: 100 }),
    entrypoint: words,
    command: words,
    ports,
    nodeId: fc.constantFrom(...nodes.flatMap(({ id, name }) => [id, name])),
    healthCheck,
    environment: fc.dictionary(
      // PASS and PWD are the names of credentials.
      fc.stringMatching(/^MY_[A-OQ-Z]{1,8}$/),
      word.filter(text => !text.includes('://')),
      { noNullPrototype: true },
    ),
    secretsVersion: fc.integer({ min: 0, max: 9 }),
    resources: fc.record(
      {
        cpu: fc.integer({ min: 1, max: 64_000 }).map(millis => `${millis}m`),
        memory: fc.integer({ min: 1, max: 4096 }).map(size => `${size}Mi`),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    labels: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[a-z0-9]{0,8}$/), {
      noNullPrototype: true,
    }),
    volumes,
    networks: fc.subarray(['backend', 'vault']),
    placement,
    dependsOn,
    rollout,
  },
  { requiredKeys: ['kind', 'name', 'image'], noNullPrototype: true },
);

/** Any document that asks for a deployment and is accepted. */
export const soundDocument = fc
  .tuple(document, composition)
  .map(([fields, secrecy]) => ({ ...fields, ...fitNetworks(fields), ...secrecy }));

type Places = { networks?: readonly string[]; nodeId?: string; ports?: readonly object[] };

/** Networks of the node that a document names, and one that is not internal for its host ports. */
function fitNetworks({ networks, nodeId, ports: sent = [] }: Places) {
  if (!networks) return {};
  if (nodeId === machine2 || nodeId === 'machine-2') return { networks: networks.length > 0 ? ['edge'] : [] };
  const isClosed = networks.length === 1 && networks[0] === 'vault';
  return { networks: isClosed && sent.some(port => 'hostPort' in port) ? ['vault', 'backend'] : networks };
}

/** One thing done to a sound document, and the one code and field it must earn. */
export const mutations: ReadonlyArray<{ change: Readonly<Record<string, unknown>>; code: string; field: string }> = [
  { change: { kind: 'Job' }, code: 'manifest_wrong_kind', field: 'kind' },
  { change: { name: undefined }, code: 'name_required', field: 'name' },
  { change: { name: 'Not-a-name' }, code: 'deployment_name_invalid', field: 'name' },
  { change: { name: 'x'.repeat(64) }, code: 'deployment_name_too_long', field: 'name' },
  { change: { name: 'etcd' }, code: 'reserved_infrastructure_name', field: 'name' },
  { change: { image: 'nginx:latest' }, code: 'image_required', field: 'image' },
  { change: { replicas: -7 }, code: 'replicas_negative', field: 'replicas' },
  { change: { replicas: 1e9 }, code: 'replicas_out_of_range', field: 'replicas' },
  { change: { command: 'x' }, code: 'field_invalid', field: 'command' },
  { change: { ports: [{ containerPort: -1 }] }, code: 'port_invalid', field: 'ports[0].containerPort' },
  { change: { nodeId: 'nowhere' }, code: 'node_not_a_placement_candidate', field: 'nodeId' },
  { change: { healthCheck: {} }, code: 'healthcheck_type_inert', field: 'healthCheck.type' },
  { change: { healthCheck: { type: 'exec' } }, code: 'healthcheck_command_missing', field: 'healthCheck.command' },
  { change: { healthCheck: { type: 'grpc' } }, code: 'healthcheck_type_unsupported', field: 'healthCheck.type' },
  {
    change: { environment: { A_TOKEN: 'x' } },
    code: 'plaintext_credential_in_environment',
    field: 'environment.A_TOKEN',
  },
  { change: { secretsVersion: -1 }, code: 'secrets_version_negative', field: 'secretsVersion' },
  { change: { resources: { memory: 'lots' } }, code: 'resources_quantity_invalid', field: 'resources.memory' },
  { change: { labels: { 'traefik.x': 'y' } }, code: 'label_reserved', field: 'labels.traefik.x' },
  { change: { networks: ['nowhere'] }, code: 'network_not_found', field: 'networks[0]' },
  { change: { networks: ['vault', 'edge'], nodeId: undefined }, code: 'network_on_another_node', field: 'networks[1]' },
  {
    change: { networks: ['vault'], nodeId: undefined, ports: [{ containerPort: 80, hostPort: 80 }] },
    code: 'network_internal_port',
    field: 'networks',
  },
  {
    change: { volumes: [{ volumeId: exampleVolumes.absent, mountPath: '/x' }] },
    code: 'volume_not_found',
    field: 'volumes[0].volumeId',
  },
  {
    change: { volumes: [{ volumeId: exampleVolumes.degraded, mountPath: '/x', readOnly: true }] },
    code: 'volume_not_ready',
    field: 'volumes[0].volumeId',
  },
  {
    change: { volumes: [{ volumeId: 'x', mountPath: '/x' }] },
    code: 'volume_mount_shape',
    field: 'volumes[0].volumeId',
  },
  {
    change: { placement: { residency: { country: 'ZZ' } } },
    code: 'residency_country_invalid',
    field: 'placement.residency.country',
  },
  {
    change: { placement: { residency: { region: 'moon' } } },
    code: 'residency_region_unknown',
    field: 'placement.residency.region',
  },
  {
    change: { placement: {}, labels: { 'mooring.io/data-residency-country': 'DE' } },
    code: 'residency_label_handwritten',
    field: 'labels.mooring.io/data-residency-country',
  },
  { change: { dependsOn: [{ name: 'cache' }] }, code: 'depends_on_no_health_check', field: 'dependsOn[0].name' },
  {
    change: { dependsOn: [{ name: 'db' }, { name: 'db' }] },
    code: 'depends_on_duplicate',
    field: 'dependsOn[1].name',
  },
  {
    change: { rollout: { maxSurge: 0, maxUnavailable: 0 } },
    code: 'field_invalid',
    field: 'rollout.maxUnavailable',
  },
  {
    change: { composedSecrets: { A: '{{secret.third.x}}' } },
    code: 'secret_compose_resource_undeclared',
    field: 'composedSecrets.A',
  },
  { change: { composedSecrets: { A: 'constant' } }, code: 'secret_compose_no_reference', field: 'composedSecrets.A' },
  ...[
    { fields: { name: 'a-b' }, code: 'secret_name_invalid', part: 'name' },
    { fields: { vault_path: undefined }, code: 'secret_vault_path_required', part: 'vault_path' },
    { fields: { vault_path: '../x' }, code: 'secret_vault_path_not_relative', part: 'vault_path' },
    { fields: { vault_path: 'x' }, code: 'secret_path_shape', part: 'vault_path' },
    { fields: { vault_path: 'other/x' }, code: 'secret_path_namespace', part: 'vault_path' },
    { fields: { vault_path: 'resources/X' }, code: 'secret_path_name', part: 'vault_path' },
    { fields: { vault_path: 'resources/db-admin' }, code: 'secret_path_namespace_split', part: 'vault_path' },
    { fields: { anchor: 'tide' }, code: 'secret_anchor_invalid', part: 'anchor' },
    { fields: { rotation: 'never' }, code: 'secret_rotation_unsupported', part: 'rotation' },
    { fields: { mount_path: '/x' }, code: 'secret_mount_path_unsupported', part: 'mount_path' },
    { fields: { values: { a: '' } }, code: 'secret_value_empty', part: 'values.a' },
    { fields: { generate: { keys: [] } }, code: 'secret_generate_keys_required', part: 'generate.keys' },
  ].map(({ fields, code, part }) => ({
    change: {
      secrets: [{ name: 'ONE', vault_path: 'deployments/x', anchor: 'process', ...fields }],
      composedSecrets: undefined,
    },
    code,
    field: `secrets[0].${part}`,
  })),
  { change: { surprise: 1 }, code: 'field_unknown', field: 'surprise' },
];
