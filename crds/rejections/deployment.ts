import { defineEntries, exampleDeployment } from './entry.js';

/** Section 7.1: name, image, replicas, environment. */
export const deploymentRejections = defineEntries('7.1', {
  name_required: {
    expected: 'a lowercase DNS-style name, for example web',
    why: 'The name is how the deployment, its containers and its DNS alias are found.',
    remedy: 'Set name.',
    example: exampleDeployment({ name: undefined }),
    fixed: exampleDeployment(),
  },

  deployment_name_invalid: {
    expected: 'lowercase letters, digits and hyphens, starting with a letter and ending with a letter or digit',
    why: 'The name is used verbatim as container name, router id, DNS alias and key, and all of them must accept it.',
    remedy: 'Choose a name of lowercase letters, digits and inner hyphens.',
    example: exampleDeployment({ name: 'Web_Shop' }),
    fixed: exampleDeployment({ name: 'web-shop' }),
  },

  deployment_name_too_long: {
    expected: ({ max }: { max: number }) => `at most ${max} characters`,
    sample: { max: 63 },
    why: 'The name becomes a DNS label, which has at most 63 characters.',
    remedy: 'Shorten the name.',
    example: exampleDeployment({ name: 'a'.repeat(64) }),
    fixed: exampleDeployment({ name: 'a'.repeat(63) }),
  },

  reserved_infrastructure_name: {
    expected: ({ reserved }: { reserved: readonly string[] }) => `any name except ${reserved.join(', ')}`,
    sample: { reserved: ['etcd'] },
    why: 'The name is the DNS alias of the database that the control plane itself connects to.',
    remedy: 'Choose another name.',
    example: exampleDeployment({ name: 'etcd' }),
    fixed: exampleDeployment({ name: 'etcd-cache' }),
  },

  deployment_not_found: {
    status: 404,
    expected: 'the name or id of an existing deployment',
    why: 'The tenant has no deployment of that name, and only POST creates one.',
    remedy: 'Correct the name, or create the deployment with POST /api/v1/deployments.',
    example: 'PUT /api/v1/deployments/wbe',
    fixed: 'PUT /api/v1/deployments/web',
  },

  manifest_wrong_kind: {
    expected: ({ kind }: { kind: string }) => kind,
    sample: { kind: 'Deployment' },
    why: 'Each kind has an endpoint of its own, and this one stores no other.',
    remedy: 'Correct kind, or send the document to the endpoint of its kind.',
    example: exampleDeployment({ kind: 'Job' }),
    fixed: exampleDeployment(),
  },

  image_required: {
    expected: 'a pinned image reference: a tag other than latest, or a digest',
    why: 'A reference that can change its meaning makes two replicas of one deployment run different programs.',
    remedy: 'Name a tag such as :1.4.2, or a digest such as @sha256:….',
    example: exampleDeployment({ image: 'nginx:latest' }),
    fixed: exampleDeployment({ image: 'nginx:1.27.3' }),
  },

  image_not_found: {
    expected: 'a reference whose manifest the registry already holds',
    why: 'The registry confirms that it has no manifest for this reference, so no node could start it.',
    remedy: 'Push the image first, then send the request again.',
    example: exampleDeployment({ image: 'registry.example.com/shop/web:9.9.9' }),
    fixed: exampleDeployment(),
  },

  image_registry_refused: {
    expected: 'an image of a registry that the operator has listed, or that has public addresses only',
    why: 'The tenant chooses the host, so neither the control plane nor a node contacts one that is private, link-local or not listed.',
    remedy:
      'Push the image to an allowed registry, or ask the operator to add this one to registryAllow or registryInsecure.',
    example: exampleDeployment({ image: '10.0.0.1:5000/shop/web:1.4.2' }),
    fixed: exampleDeployment(),
  },

  registry_credential_store_unavailable: {
    status: 503,
    expected: 'the same request, once the credential store answers again',
    why: 'The registry wants a credential, and the store that holds it cannot be reached.',
    remedy: 'Send the request again later. Nothing in it needs to change.',
    example: exampleDeployment(),
    fixed: exampleDeployment(),
  },

  replicas_negative: {
    expected: ({ max }: { max: number }) => `an integer from 0 to ${max}`,
    sample: { max: 100 },
    why: 'A deployment cannot have a negative number of containers.',
    remedy: 'Use 0 to stop the deployment without deleting it.',
    example: exampleDeployment({ replicas: -1 }),
    fixed: exampleDeployment({ replicas: 0 }),
  },

  replicas_out_of_range: {
    expected: ({ max }: { max: number }) => `an integer from 0 to ${max}`,
    sample: { max: 100 },
    why: 'The number of replicas of one deployment is limited, so that it cannot take every node of its tenant.',
    remedy: 'Ask for fewer replicas, or split the work into several deployments.',
    example: exampleDeployment({ replicas: 5000 }),
    fixed: exampleDeployment({ replicas: 50 }),
  },

  plaintext_credential_in_environment: {
    expected: ({ name }: { name: string }) =>
      `a constant that is no credential; reference the secrets store with a secrets entry whose vault_path is deployments/${name}`,
    sample: { name: 'web' },
    why: 'The environment is stored, archived and shown as it is, so a credential in it is readable by many.',
    remedy: 'Write the credential to the secrets store and take it out of environment.',
    echo: 'never',
    example: exampleDeployment({ environment: { DB_PASSWORD: 'correct horse' } }),
    fixed: exampleDeployment({ environment: { DB_PASSWORD_FILE: '/run/db-password' } }),
  },

  secrets_version_negative: {
    expected: 'an integer of 0 or more, or no secretsVersion',
    why: 'The counter starts at 0 and only the rotation operation raises it.',
    remedy: 'Leave secretsVersion out.',
    example: exampleDeployment({ secretsVersion: -1 }),
    fixed: exampleDeployment(),
  },
});

/** Section 7.2. */
export const healthCheckRejections = defineEntries('7.2', {
  healthcheck_command_missing: {
    expected: 'a list of strings: one element holding a shell line, or one element per argument',
    why: 'A check without a command never fails, so deployments that wait for its health would start too early.',
    remedy: 'Set healthCheck.command.',
    example: exampleDeployment({ healthCheck: { type: 'exec', command: [] } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['curl -fs localhost:8080/health'] } }),
  },

  healthcheck_retries_below_floor: {
    expected: ({ floor }: { floor: number }) => `an integer of ${floor} or more, or no retries`,
    sample: { floor: 3 },
    why: 'With fewer retries, one failed check already degrades the whole deployment.',
    remedy: 'Raise retries, or leave it out to take the runtime default.',
    example: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], retries: 1 } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], retries: 3 } }),
  },

  healthcheck_timeout_below_floor: {
    expected: ({ floor }: { floor: string }) => `a duration of ${floor} or more, such as 15s, or no timeout`,
    sample: { floor: '10s' },
    why: 'A check that overruns is killed with SIGKILL, so a short timeout makes healthy containers look unhealthy.',
    remedy: 'Raise the timeout, or leave it out to take the runtime default of 30s.',
    example: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], timeout: '2s' } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], timeout: '10s' } }),
  },

  healthcheck_type_inert: {
    expected: 'exec with a command, or no healthCheck at all',
    why: 'A check that runs nothing always passes, so deployments that wait for its health would start too early.',
    remedy: 'Declare an exec check with a command, or leave healthCheck out.',
    example: exampleDeployment({ healthCheck: { type: 'none' } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'] } }),
  },

  healthcheck_type_unsupported: {
    expected: 'exec',
    why: 'Checks run inside the container, where they need no open port; no other type is carried out.',
    remedy: 'Write the check as a command that runs in the container.',
    example: exampleDeployment({ healthCheck: { type: 'http', command: ['/health'] } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['curl -fs localhost:8080/health'] } }),
  },
});
