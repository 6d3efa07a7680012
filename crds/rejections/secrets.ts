import { exampleDeployment, defineEntries, exampleVolumes, exampleMount, exampleSecret } from './entry.js';

const anchored = `volume(${exampleVolumes.ready})`;
const one = (fields: Readonly<Record<string, unknown>> = {}) => exampleDeployment({ secrets: [exampleSecret(fields)] });

/** Section 7.3: references to secrets, their anchors and their paths. */
export const secretRejections = defineEntries('7.3', {
  anchored_secret_dropped: {
    status: 409,
    expected: ({ secrets }: { secrets: readonly string[] }) =>
      `a list that still holds ${secrets.join(', ')}, or an update that removes the volume too`,
    sample: { secrets: ['deployments/web-db'] },
    why: 'The data on the volume can be read with this credential only; without it the data would be lost.',
    remedy: 'Keep the entry, or remove the volume in the same update.',
    example: 'PUT /api/v1/deployments/web with {"secrets": []} while its volume is mounted',
    fixed: 'PUT /api/v1/deployments/web with {"secrets": [], "volumes": []}',
  },

  anchored_secret_repointed: {
    status: 409,
    expected: ({ path }: { path: string }) => `${path}, as it is stored`,
    sample: { path: 'deployments/web-db' },
    why: 'The data on the volume was written under the stored credential, and another one would not open it.',
    remedy: 'Use the rotation operation, or remove the volume in the same update.',
    example: 'PUT /api/v1/deployments/web with another vault_path while its volume is mounted',
    fixed: 'POST /api/v1/deployments/web/secrets/rotate with {"phase": "stage"}',
  },

  secret_anchor_invalid: {
    expected: 'process, external, or volume(<volume-id>)',
    why: 'The anchor decides whether the credential may ever be generated again, so it has no default.',
    remedy: 'Set anchor to one of these three.',
    example: one({ anchor: 'disk' }),
    fixed: one(),
  },

  secret_anchor_volume_ephemeral: {
    expected: 'a volume that is mounted with type volume or bind',
    why: 'A tmpfs is deleted with its container, so a credential cannot be bound to it.',
    remedy: 'Anchor the secret to a volume that lasts, or use the anchor process.',
    example: exampleDeployment({
      volumes: [exampleMount({ volumeId: exampleVolumes.scratch })],
      secrets: [exampleSecret({ anchor: `volume(${exampleVolumes.scratch})` })],
    }),
    fixed: exampleDeployment({ volumes: [exampleMount()], secrets: [exampleSecret({ anchor: anchored })] }),
  },

  secret_anchor_volume_not_declared: {
    expected: ({ declared }: { declared: readonly string[] }) =>
      declared.length === 0
        ? 'a volume of this deployment, which mounts none'
        : `a volume of this deployment: ${declared.join(', ')}`,
    sample: { declared: [exampleVolumes.ready] },
    why: 'A credential can only be bound to data that the same deployment mounts.',
    remedy: 'Mount the volume in volumes, or correct the anchor.',
    example: exampleDeployment({ secrets: [exampleSecret({ anchor: anchored })] }),
    fixed: exampleDeployment({ volumes: [exampleMount()], secrets: [exampleSecret({ anchor: anchored })] }),
  },

  secret_compose_no_reference: {
    expected: 'a template with at least one {{secret.<resource>.<key>}}',
    why: 'A template without a placeholder is a constant, and constants belong in environment.',
    remedy: 'Move the value to environment, or put the placeholder in.',
    echo: 'never',
    example: exampleDeployment({ composedSecrets: { DATABASE_URL: 'postgres://db/shop' } }),
    fixed: exampleDeployment({ environment: { DATABASE_URL: 'postgres://db/shop' } }),
  },

  secret_compose_resource_undeclared: {
    expected: ({ declared }: { declared: readonly string[] }) =>
      declared.length === 0
        ? 'a resource that secrets declares, and it declares none'
        : `a resource that secrets declares: ${declared.join(', ')}`,
    sample: { declared: ['web-db'] },
    why: 'A deployment can only use credentials that it declares.',
    remedy: 'Add an entry with that path to secrets, or correct the placeholder.',
    echo: 'never',
    example: exampleDeployment({ secrets: [exampleSecret()], composedSecrets: { URL: '{{secret.db.user}}' } }),
    fixed: exampleDeployment({ secrets: [exampleSecret()], composedSecrets: { URL: '{{secret.web-db.user}}' } }),
  },

  secret_compose_template_empty: {
    expected: 'a template that is not empty',
    why: 'An empty variable that looks like a credential hides a mistake until the program starts.',
    remedy: 'Write the template, or remove the entry.',
    echo: 'never',
    example: exampleDeployment({ secrets: [exampleSecret()], composedSecrets: { URL: '' } }),
    fixed: exampleDeployment({ secrets: [exampleSecret()], composedSecrets: { URL: '{{secret.web-db.url}}' } }),
  },

  secret_compose_template_malformed: {
    expected: 'placeholders of the form {{secret.<resource>.<key>}}, without spaces',
    why: 'A malformed placeholder would reach the program as text.',
    remedy: 'Correct the placeholder: the resource is a DNS label, the key has letters, digits and underscores.',
    echo: 'never',
    example: exampleDeployment({ secrets: [exampleSecret()], composedSecrets: { URL: '{{ web-db.url }}' } }),
    fixed: exampleDeployment({ secrets: [exampleSecret()], composedSecrets: { URL: '{{secret.web-db.url}}' } }),
  },

  secret_mount_path_unsupported: {
    expected: 'no mount_path',
    why: 'Secrets are delivered as environment variables only; no file is ever written.',
    remedy: 'Remove mount_path and read NAME_key from the environment.',
    example: one({ mount_path: '/run/secrets/db' }),
    fixed: one(),
  },

  secret_name_invalid: {
    expected: 'letters, digits and underscores, at most 128',
    why: 'The name is the beginning of each environment variable that the secret becomes.',
    remedy: 'Choose a name such as DB.',
    example: one({ name: 'web-db' }),
    fixed: one({ name: 'WEB_DB' }),
  },

  secret_path_name: {
    expected: 'after the namespace, a DNS label: lowercase letters, digits and inner hyphens, 1 to 63',
    why: 'The rest of the path names one credential, and the secrets store has no folders below a namespace.',
    remedy: 'Correct the part after the first slash.',
    example: one({ vault_path: 'deployments/Web_DB' }),
    fixed: one(),
  },

  secret_path_namespace: {
    expected: ({ granted }: { granted: readonly string[] }) => `one of the granted namespaces: ${granted.join(', ')}`,
    sample: { granted: ['deployments', 'resources'] },
    why: 'The secrets policy grants these namespaces only; reading another fails with 403 when the container is created.',
    remedy: 'Use a granted namespace.',
    example: one({ vault_path: 'platform/web-db' }),
    fixed: one(),
  },

  secret_path_namespace_split: {
    expected: ({ path, user }: { path: string; user: string }) => `${path}, as ${user} refers to it`,
    sample: { path: 'deployments/web-db', user: 'an earlier entry' },
    why: 'One label is one credential; under two namespaces it would be rotated in one place and not in the other.',
    remedy: 'Use one namespace for all references to this credential.',
    example: exampleDeployment({
      secrets: [exampleSecret(), exampleSecret({ name: 'DB2', vault_path: 'resources/web-db' })],
    }),
    fixed: exampleDeployment({ secrets: [exampleSecret()] }),
  },

  secret_path_shape: {
    expected: ({ granted }: { granted: readonly string[] }) =>
      `<namespace>/<label>, with a namespace of ${granted.join(', ')}`,
    sample: { granted: ['deployments', 'resources'] },
    why: 'A path names a namespace and one credential in it.',
    remedy: 'Write the path as <namespace>/<label>, for example deployments/web-db.',
    example: one({ vault_path: 'web-db' }),
    fixed: one(),
  },

  secret_rotation_unsupported: {
    expected: 'restart, or no rotation',
    why: 'A running process cannot be handed a new environment, so new material needs a new container.',
    remedy: 'Set rotation to restart, or leave it out.',
    example: one({ rotation: 'signal' }),
    fixed: one({ rotation: 'restart' }),
  },

  secret_vault_path_not_relative: {
    expected: 'a path inside the tenant’s own secrets: no leading slash, no .. element',
    why: 'A path that leads out of the tenant’s secrets could reach another tenant’s.',
    remedy: 'Begin the path with its namespace, for example deployments/web-db.',
    example: one({ vault_path: '/deployments/web-db' }),
    fixed: one(),
  },

  secret_vault_path_required: {
    expected: 'a path such as deployments/web-db',
    why: 'An entry without a path refers to nothing.',
    remedy: 'Set vault_path.',
    example: one({ vault_path: undefined }),
    fixed: one(),
  },
});
