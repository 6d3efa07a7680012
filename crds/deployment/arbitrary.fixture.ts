import fc from 'fast-check';

import { facts } from './admit.fixture.js';

const word = fc.stringMatching(/^[A-Za-z0-9 ./:=-]{1,20}$/).filter(text => text.trim() !== '');
const words = fc.array(word, { minLength: 1, maxLength: 4 });
const duration = (least: number, most: number) => fc.integer({ min: least, max: most }).map(seconds => `${seconds}s`);
const nodes = facts.nodes === 'unreadable' ? [] : facts.nodes;

const port = fc.record(
  {
    containerPort: fc.integer({ min: 1, max: 65_535 }),
    hostPort: fc.integer({ min: 1, max: 65_535 }),
    protocol: fc.constantFrom('tcp', 'udp'),
  },
  { requiredKeys: ['containerPort'] },
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
  { requiredKeys: ['command'] },
);

/** Any document that asks for a deployment and is accepted. */
export const soundDocument = fc.record(
  {
    kind: fc.constant('Deployment'),
    name: fc.stringMatching(/^[a-z](?:[a-z0-9-]{0,20}[a-z0-9])?$/).filter(name => name !== 'etcd'),
    image: fc.stringMatching(/^[a-z0-9]{1,8}\.example(?::[0-9]{2,4})?\/[a-z0-9]{1,8}:v[A-Za-z0-9._-]{1,12}$/),
    replicas: fc.integer({ min: 0, max: 100 }),
    entrypoint: words,
    command: words,
    ports,
    nodeId: fc.constantFrom(...nodes.flatMap(({ id, name }) => [id, name])),
    healthCheck,
    environment: fc.dictionary(
      fc.stringMatching(/^MY_[A-Z]{1,8}$/),
      word.filter(text => !text.includes('://')),
    ),
    secretsVersion: fc.integer({ min: 0, max: 9 }),
    resources: fc.record(
      {
        cpu: fc.integer({ min: 1, max: 64_000 }).map(millis => `${millis}m`),
        memory: fc.integer({ min: 1, max: 4096 }).map(size => `${size}Mi`),
      },
      { requiredKeys: [] },
    ),
    labels: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[a-z0-9]{0,8}$/)),
  },
  { requiredKeys: ['kind', 'name', 'image'], noNullPrototype: true },
);

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
  { change: { surprise: 1 }, code: 'field_unknown', field: 'surprise' },
];
