import { exampleDeployment, defineEntries } from './entry.js';

/** Ours: rules about fields for which the specification has no code. */
export const fieldRejections = defineEntries('ours', {
  field_unknown: {
    expected: ({ nearest }: { nearest: string | undefined }) =>
      nearest === undefined ? 'only fields that this release knows' : `${nearest}, or no such field`,
    sample: { nearest: 'replicas' },
    why: 'The field is unknown; ignoring it would look as if it had been accepted.',
    remedy: 'Correct the name of the field, or remove it.',
    echo: 'never',
    example: exampleDeployment({ replcas: 3 }),
    fixed: exampleDeployment({ replicas: 3 }),
  },

  restart_policy_jobs_only: {
    expected: 'no restartPolicy; or kind Job, sent to /api/v1/jobs',
    why: 'A container of a deployment is always started again when it ends; only jobs run to an end, and have restartPolicy.',
    remedy:
      'Take restartPolicy out of the deployment. For work that ends, create a job with restartPolicy Never or OnFailure.',
    example: exampleDeployment({ restartPolicy: 'Always' }),
    fixed: exampleDeployment(),
  },

  field_invalid: {
    expected: ({ wanted }: { wanted: string }) => wanted,
    sample: { wanted: 'a list of strings, one per argument' },
    why: 'The value does not have the form of this field.',
    remedy: 'Send the value in the expected form.',
    example: exampleDeployment({ command: '--port 8080' }),
    fixed: exampleDeployment({ command: ['--port', '8080'] }),
  },

  field_immutable: {
    expected: ({ current }: { current: string }) => `${current}, as it is stored; or leave the field out`,
    sample: { current: 'web' },
    why: 'This field identifies the object, and everything that belongs to the object refers to it.',
    remedy: 'Leave the field as it is. For another name, create a new object and delete this one.',
    example: 'PUT /api/v1/deployments/web with {"name": "shop"}',
    fixed: 'PUT /api/v1/deployments/web with {"name": "web"}',
  },

  environment_name_invalid: {
    expected: 'letters, digits, underscores, dots and hyphens, not starting with a digit, at most 255',
    why: 'Programs and shells in the container could not read a variable of that name.',
    remedy: 'Rename the variable.',
    example: exampleDeployment({ environment: { '1ST_MODE': 'production' } }),
    fixed: exampleDeployment({ environment: { FIRST_MODE: 'production' } }),
  },

  port_invalid: {
    expected: 'containerPort and optional hostPort from 1 to 65535, protocol tcp or udp',
    why: 'The container runtime can publish nothing else.',
    remedy: 'Correct the port.',
    example: exampleDeployment({ ports: [{ containerPort: 80800 }] }),
    fixed: exampleDeployment({ ports: [{ containerPort: 8080 }] }),
  },

  port_duplicate: {
    expected: 'each container port and each host port once for a protocol',
    why: 'Two listeners cannot share one port of one protocol.',
    remedy: 'Remove or change one of the two.',
    example: exampleDeployment({
      ports: [
        { containerPort: 80, hostPort: 80 },
        { containerPort: 81, hostPort: 80 },
      ],
    }),
    fixed: exampleDeployment({
      ports: [
        { containerPort: 80, hostPort: 80 },
        { containerPort: 81, hostPort: 81 },
      ],
    }),
  },

  host_port_reserved: {
    expected: ({ reserved }: { reserved: readonly string[] }) => `any host port except ${reserved.join(', ')}`,
    sample: { reserved: ['2379-2380', '7070'] },
    why: 'The platform itself listens there: a container on that port would receive what is sent to the platform.',
    remedy: 'Choose another host port, or leave it out.',
    example: exampleDeployment({ ports: [{ containerPort: 8080, hostPort: 7070 }] }),
    fixed: exampleDeployment({ ports: [{ containerPort: 8080, hostPort: 8080 }] }),
  },

  resources_quantity_invalid: {
    expected: ({ form }: { form: string }) => form,
    sample: { form: 'thousandths of a core such as 500m, or cores such as 1.5, above zero' },
    why: 'The scheduler compares requests with what a node has, so it must be able to read them.',
    remedy: 'Write cpu like 500m and memory like 256Mi.',
    example: exampleDeployment({ resources: { cpu: 'half' } }),
    fixed: exampleDeployment({ resources: { cpu: '500m' } }),
  },

  label_invalid: {
    expected:
      'key: letters, digits, dots, hyphens, underscores, at most 63, optionally after a DNS name and /; value: the same, or empty',
    why: 'Objects are selected by their labels, so keys and values have a fixed form.',
    remedy: 'Shorten or respell the label.',
    example: exampleDeployment({ labels: { 'team name': 'shop' } }),
    fixed: exampleDeployment({ labels: { team: 'shop' } }),
  },

  label_reserved: {
    expected: ({ prefixes }: { prefixes: readonly string[] }) =>
      `a key that does not begin with ${prefixes.join(', ')}`,
    sample: { prefixes: ['mooring.io/', 'com.docker.', 'traefik.'] },
    why: 'The platform and the container runtime use these labels themselves.',
    remedy: 'Choose another key.',
    example: exampleDeployment({ labels: { 'mooring.io/tenant': 'mine' } }),
    fixed: exampleDeployment({ labels: { 'example.com/tenant': 'mine' } }),
  },

  node_label_reserved: {
    expected: 'under mooring.io/ only mooring.io/country and mooring.io/geo-region',
    why: 'The platform places work by the labels under its own prefix, so an agent may not invent them.',
    remedy: 'Take the label out of the agent’s configuration, or use a prefix of your own.',
    example: { nodeName: 'machine-1', labels: { 'mooring.io/control-plane': 'true' } },
    fixed: { nodeName: 'machine-1', labels: { 'mooring.io/country': 'DE' } },
  },
});
