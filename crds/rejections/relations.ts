import { exampleDeployment, defineEntries, exampleSecret } from './entry.js';

const residency = (block: Readonly<Record<string, unknown>>) => exampleDeployment({ placement: { residency: block } });

/** Ours: where a deployment may run, what it waits for, and names that may not meet. */
export const relationRejections = defineEntries({
  residency_label_handwritten: {
    section: 'ours',
    status: 422,
    expected: ({ block }: { block: string }) => `the typed block: placement: {residency: ${block}}`,
    sample: { block: '{"country":"DE"}' },
    why: 'Residency is written as a typed block, so that a misspelt country cannot pass for no constraint at all.',
    remedy: 'Remove the label and write placement.residency.',
    example: exampleDeployment({ labels: { 'mooring.io/data-residency-country': 'DE' } }),
    fixed: residency({ country: 'DE' }),
  },

  residency_label_conflict: {
    section: 'ours',
    status: 422,
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
    section: 'ours',
    status: 422,
    expected: ({ declared }: { declared: readonly string[] }) => `a declared region: ${declared.join(', ')}`,
    sample: { declared: ['eu', 'eea', 'uk', 'us', 'ca', 'apac'] },
    why: 'The control plane declares the regions, and this one is not among them.',
    remedy: 'Choose a declared region; GET /api/v1/scheduler/regions lists them.',
    example: residency({ region: 'europe' }),
    fixed: residency({ region: 'eu' }),
  },

  residency_country_invalid: {
    section: 'ours',
    status: 422,
    expected: 'a country by its two letters in ISO 3166-1, for example DE',
    why: 'Nodes report their country in this form, so no node could ever match another one.',
    remedy: 'Use the country’s two-letter code.',
    example: residency({ country: 'Germany' }),
    fixed: residency({ country: 'DE' }),
  },

  depends_on_self: {
    section: 'ours',
    status: 422,
    expected: 'the name of another deployment',
    why: 'A deployment that waits for itself never starts.',
    remedy: 'Remove the entry.',
    example: exampleDeployment({ dependsOn: [{ name: 'web' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'db' }] }),
  },

  depends_on_cycle: {
    section: 'ours',
    status: 422,
    expected: ({ cycle }: { cycle: readonly string[] }) => `dependencies that do not lead back: ${cycle.join(' → ')}`,
    sample: { cycle: ['web', 'worker', 'web'] },
    why: 'Each of them would wait for the next, and none would start.',
    remedy: 'Take one of the dependencies out.',
    example: exampleDeployment({ dependsOn: [{ name: 'worker' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'db' }] }),
  },

  depends_on_no_health_check: {
    section: 'ours',
    status: 422,
    expected: 'a deployment with a healthCheck, or the condition started',
    why: 'Without a health check nothing ever says that the other deployment is healthy.',
    remedy: 'Give the other deployment a healthCheck, or wait for started.',
    example: exampleDeployment({ dependsOn: [{ name: 'cache', condition: 'healthy' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'cache', condition: 'started' }] }),
  },

  depends_on_duplicate: {
    section: 'ours',
    status: 422,
    expected: 'each deployment once',
    why: 'Two conditions on one deployment contradict each other or say the same.',
    remedy: 'Keep one of the entries.',
    example: exampleDeployment({ dependsOn: [{ name: 'db' }, { name: 'db', condition: 'started' }] }),
    fixed: exampleDeployment({ dependsOn: [{ name: 'db' }] }),
  },

  health_check_needed: {
    section: 'ours',
    status: 422,
    expected: ({ users }: { users: readonly string[] }) =>
      `a healthCheck, because ${users.join(', ')} wait for this deployment to be healthy`,
    sample: { users: ['shop'] },
    why: 'Without it the deployments that wait for its health would wait for ever.',
    remedy: 'Keep the healthCheck, or let the others wait for started.',
    example: 'PUT /api/v1/deployments/db with {"healthCheck": null} while web waits for it to be healthy',
    fixed: 'PUT /api/v1/deployments/db with a healthCheck',
  },

  environment_name_conflict: {
    section: 'ours',
    status: 422,
    expected: ({ other }: { other: string }) => `a variable that nothing else sets; ${other} sets it too`,
    sample: { other: 'environment.DB_USER' },
    why: 'A container has one value for a variable, and two are given.',
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

  network_not_found: {
    section: 'ours',
    status: 422,
    expected: ({ known }: { known: readonly string[] }) =>
      known.length === 0 ? 'a network of this tenant, which has none' : `a network of this tenant: ${known.join(', ')}`,
    sample: { known: ['backend'] },
    why: 'A container can only join a network that exists.',
    remedy: 'Create the network with POST /api/v1/networks, or correct the name.',
    example: exampleDeployment({ networks: ['frontend'] }),
    fixed: exampleDeployment({ networks: ['backend'] }),
  },

  network_in_use: {
    section: 'ours',
    status: 409,
    expected: ({ users }: { users: readonly string[] }) => `a network that nothing joins; ${users.join(', ')} do`,
    sample: { users: ['web'] },
    why: 'The containers on it would lose each other.',
    remedy: 'Take the network out of the deployments first.',
    example: 'DELETE /api/v1/networks/backend while web joins it',
    fixed: 'DELETE /api/v1/networks/backend once nothing joins it',
  },

  resource_already_exists: {
    section: 'ours',
    status: 409,
    expected: 'a name that the tenant does not use yet',
    why: 'POST creates, and never writes over what exists.',
    remedy: 'Choose another name, or delete the existing one first.',
    example: 'POST /api/v1/networks, twice with the same name',
    fixed: 'POST /api/v1/networks with another name',
  },
});
