/**
 * Which folder may import which: a folder imports itself and folders on a lower floor, nothing else.
 * Each line is one floor, the lowest first. `crds/*` is the floor of
 * a folder in `crds` that is not named: a new kind needs no entry here unless other kinds import it.
 */
export const floors: readonly (readonly string[])[] = [
  ['crds/grammar', 'crds/reasons'],
  ['crds/meta'],
  ['crds/rejections'],
  ['crds/rule'],
  ['crds/kind'],
  ['crds/residency', 'crds/secret', 'crds/tenant', 'crds/event', 'crds/scheduling', 'crds/report'],
  ['crds/volume', 'crds/rotation', 'crds/network', 'crds/snapshot'],
  ['crds/workload', 'crds/recommendation'],
  ['crds/deployment', 'crds/job'],
  ['crds/archive'],
  ['crds/replica', 'crds/delivery', 'crds/*'],
  ['crds/rollout'],
  ['crds/kinds'],
  ['crds/keys', 'crds/schemas'],
  ['crds/stored'],
  ['pkg/fault', 'pkg/clock', 'pkg/version'],
  ['pkg/ndjson', 'pkg/failpoint', 'pkg/certificates'],
  ['pkg/log', 'pkg/config', 'pkg/metrics'],
  ['pkg/store', 'pkg/json', 'pkg/registry', 'pkg/auth'],
  ['pkg/events', 'pkg/placement', 'pkg/secrets', 'pkg/history'],
  ['pkg/fleet'],
  ['pkg/recommend', 'pkg/reconcile', 'pkg/client', 'pkg/link', 'pkg/material', 'pkg/process'],
  ['pkg/agent', 'pkg/cli'],
  ['api/http'],
  ['api/access', 'api/admission', 'api/docs', 'api/stream'],
  ['api/watch'],
  ['api/routes'],
  ['api/k8s'],
  ['controllers/reading'],
  [
    'controllers/autoscaler',
    'controllers/janitor',
    'controllers/job-runner',
    'controllers/job-scheduler',
    'controllers/network-roller',
    'controllers/node-monitor',
    'controllers/replica-keeper',
    'controllers/rotation-phaser',
    'controllers/scheduler',
    'controllers/secret-resolver',
    'controllers/status-roller',
    'controllers/volume-keeper',
    'controllers/volume-recommender',
  ],
  ['controllers', 'api', 'dashboard/model'],
  ['dashboard/data', 'dashboard/bundle'],
  ['dashboard/view'],
  ['dashboard'],
  ['dev/testing', 'dev/processes', 'dev/simulation'],
  ['up'],
  ['e2e'],
  ['hack'],
];

/** Folders that tests of every floor may import, and the product below them may not. */
export const openToTests: readonly string[] = ['dev'];

/** Third-party packages that have one home. */
export const homes: Readonly<Record<string, readonly string[]>> = {
  etcd3: ['pkg/store'],
  winston: ['pkg/log'],
  'p-queue': ['pkg/reconcile', 'pkg/agent'],
  ajv: ['crds/rule'],
  typebox: ['crds'],
  croner: ['crds/job'],
  commander: ['pkg/cli', 'up', 'api', 'controllers', 'pkg/agent'],
  'prom-client': ['pkg/metrics'],
  preact: ['dashboard'],
  '@preact/signals': ['dashboard'],
  esbuild: ['dashboard/bundle'],
  'playwright-core': ['e2e/dashboard'],
  'axe-core': ['e2e/dashboard'],
};
