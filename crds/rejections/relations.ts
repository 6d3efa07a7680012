import { exampleDeployment, defineEntries, exampleSecret } from './entry.js';

const residency = (block: Readonly<Record<string, unknown>>) => exampleDeployment({ placement: { residency: block } });

/** Ours: residency, dependencies between deployments, and names that must not collide. */
export const relationRejections = defineEntries('ours', {
  residency_label_handwritten: {
    expected: ({ block }: { block: string }) =>
      block === '{}'
        ? 'the typed block placement.residency, which has country, region and blockedCountries, and nothing for this label'
        : `the typed block: placement: {residency: ${block}}`,
    sample: { block: '{"country":"DE"}' },
    why: 'Residency is written as a typed block, so that a misspelt country is not taken for the absence of a constraint.',
    remedy: 'Remove the label and write placement.residency.',
    example: exampleDeployment({ labels: { 'mooring.io/data-residency-country': 'DE' } }),
    fixed: residency({ country: 'DE' }),
  },

  residency_label_conflict: {
    expected: 'placement.residency alone, without the label',
    why: 'The label and placement.residency state the same constraint and may contradict each other.',
    remedy: 'Remove the label.',
    example: exampleDeployment({
      placement: { residency: { country: 'DE' } },
      labels: { 'mooring.io/data-residency-country': 'DE' },
    }),
    fixed: residency({ country: 'DE' }),
  },

  residency_region_unknown: {
    expected: ({ declared }: { declared: readonly string[] }) => `a declared region: ${declared.join(', ')}`,
    sample: { declared: ['eu', 'eea', 'uk', 'us', 'ca', 'apac'] },
    why: 'The control plane declares the regions, and this one is not among them.',
    remedy: 'Choose a declared region; GET /api/v1/scheduler/regions lists them.',
    example: residency({ region: 'europe' }),
    fixed: residency({ region: 'eu' }),
  },

  residency_country_invalid: {
    expected: 'a two-letter country code of ISO 3166-1, for example DE',
    why: 'Nodes report their country in this form, so no node could match any other.',
    remedy: 'Use the country’s two-letter code.',
    example: residency({ country: 'Germany' }),
    fixed: residency({ country: 'DE' }),
  },

  depends_on_self: {
    expected: 'the name of another deployment',
    why: 'A deployment that waits for itself never starts.',
    remedy: 'Remove the entry.',
    example: exampleDeployment({ dependsOn: [{ name: 'web' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'db' }] }),
  },

  depends_on_cycle: {
    expected: ({ cycle }: { cycle: readonly string[] }) => `dependencies without a cycle; now ${cycle.join(' → ')}`,
    sample: { cycle: ['web', 'worker', 'web'] },
    why: 'Each deployment of a cycle waits for the next, so none of them starts.',
    remedy: 'Remove one of the dependencies.',
    example: exampleDeployment({ dependsOn: [{ name: 'worker' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'db' }] }),
  },

  depends_on_no_health_check: {
    expected: 'a deployment with a healthCheck, or the condition started',
    why: 'Without a health check the other deployment never becomes healthy, so this one would never start.',
    remedy: 'Give the other deployment a healthCheck, or wait for started.',
    example: exampleDeployment({ dependsOn: [{ name: 'cache', condition: 'healthy' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'cache', condition: 'started' }] }),
  },

  depends_on_duplicate: {
    expected: 'each deployment once',
    why: 'Two conditions on one deployment contradict or repeat each other.',
    remedy: 'Keep one of the entries.',
    example: exampleDeployment({ dependsOn: [{ name: 'db' }, { name: 'db', condition: 'started' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'db' }] }),
  },

  health_check_needed: {
    expected: ({ users }: { users: readonly string[] }) =>
      `a healthCheck; deployments that wait for this one to be healthy: ${users.join(', ')}`,
    sample: { users: ['shop'] },
    why: 'Without a health check this deployment never becomes healthy, so those that wait for it would never start.',
    remedy: 'Keep the healthCheck, or change the condition of the other deployments to started.',
    example: 'PUT /api/v1/deployments/db with {"healthCheck": null} while web waits for it to be healthy',
    fixed: 'PUT /api/v1/deployments/db with a healthCheck',
  },

  environment_name_conflict: {
    expected: ({ other }: { other: string }) => `a variable that is set once; ${other} sets it too`,
    sample: { other: 'environment.DB_USER' },
    why: 'A variable has one value, and the document sets two.',
    remedy: 'Rename one of the two.',
    echo: 'never',
    example: exampleDeployment({
      environment: { DB_USER: 'shop' },
      secrets: [exampleSecret({ values: { USER: '…' } })],
    }),
    fixed: exampleDeployment({
      environment: { SHOP_USER: 'shop' },
      secrets: [exampleSecret({ values: { USER: '…' } })],
    }),
  },

  secret_template_in_environment: {
    expected: ({ variable }: { variable: string }) => `a constant; a template belongs in composedSecrets.${variable}`,
    sample: { variable: 'DATABASE_URL' },
    why: 'Placeholders are filled in for composedSecrets only; from environment the container would get their text.',
    remedy: 'Move the variable to composedSecrets.',
    echo: 'never',
    example: exampleDeployment({
      environment: { DATABASE_URL: 'postgres://{{secret.web-db.user}}@db/shop' },
      secrets: [exampleSecret()],
    }),
    fixed: exampleDeployment({
      composedSecrets: { DATABASE_URL: 'postgres://{{secret.web-db.user}}@db/shop' },
      secrets: [exampleSecret()],
    }),
  },

  network_not_found: {
    expected: ({ known }: { known: readonly string[] }) =>
      known.length === 0 ? 'a network of this tenant, which has none' : `a network of this tenant: ${known.join(', ')}`,
    sample: { known: ['backend'] },
    why: 'A container can only join a network that exists.',
    remedy: 'Create the network with POST /api/v1/networks, or correct the name.',
    example: exampleDeployment({ networks: ['frontend'] }),
    fixed: exampleDeployment({ networks: ['backend'] }),
  },

  network_on_another_node: {
    expected: ({ node }: { node: string; other: string }) => `a network of the node ${node}`,
    sample: { node: 'machine-1', other: 'machine-2' },
    why: 'A network exists on one node, and a container is on one node: it cannot join networks of two.',
    remedy: 'Name networks of one node, and that node or none in nodeId.',
    example: exampleDeployment({ networks: ['backend', 'edge'] }),
    fixed: exampleDeployment({ networks: ['backend'] }),
  },

  network_internal_port: {
    expected: 'no hostPort, or a network that is not internal',
    why: 'Every network of the deployment is internal, so nothing outside would reach the port.',
    remedy: 'Remove hostPort from the ports, or add a network that is not internal.',
    example: exampleDeployment({
      networks: ['vault'],
      ports: [{ containerPort: 8080, hostPort: 80, protocol: 'tcp' }],
    }),
    fixed: exampleDeployment({ networks: ['vault'], ports: [{ containerPort: 8080, protocol: 'tcp' }] }),
  },

  network_in_use: {
    status: 409,
    expected: ({ users }: { users: readonly string[] }) =>
      `a network that nothing joins; joined by ${users.join(', ')}`,
    sample: { users: ['web'] },
    why: 'The containers on the network would no longer reach each other.',
    remedy: 'Remove the network from what joins it, or delete that, and wait until its containers are gone.',
    example: 'DELETE /api/v1/networks/backend while web joins it',
    fixed: 'DELETE /api/v1/networks/backend once nothing joins it',
  },

  resource_already_exists: {
    status: 409,
    expected: 'a name that the tenant does not use yet',
    why: 'POST creates an object and never overwrites an existing one.',
    remedy: 'Choose another name, or delete the existing object first.',
    example: 'POST /api/v1/networks, twice with the same name',
    fixed: 'POST /api/v1/networks with another name',
  },
});
