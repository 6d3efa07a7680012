import fc from 'fast-check';

import { AT } from '../../controllers/test-cluster.testing.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { Job } from '../../crds/job/index.js';
import type { Report } from '../../crds/report/index.js';
import type { CanaryOrder } from '../../crds/rollout/index.js';
import type { RotationRecord } from '../../crds/rotation/index.js';

export const NODES = ['n0', 'n1', 'n2'] as const;
export const NAMES = ['web', 'db'] as const;
export const JOB = 'batch';
export const LABEL = 'web-db';
export const SECRET_PATH = `deployments/${LABEL}`;

const rollout = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '60s', autoRollback: true };

export const specs: readonly Partial<StoredDeployment>[] = [
  { replicas: 1 },
  { replicas: 3, placement: { antiAffinity: { self: true, deployments: [], topologyKey: 'node' } } },
  { replicas: 2, resources: { cpu: '700m' } },
  { replicas: 2, ports: [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }] },
  { replicas: 1, placement: { residency: { country: 'DE' } } },
  { replicas: 1, dependsOn: [{ name: 'db', condition: 'started' }] },
  { replicas: 1, secrets: [{ name: 'DB', vault_path: 'deployments/absent', anchor: 'process', rotation: 'restart' }] },
  { replicas: 0 },
  { replicas: 2, secrets: [{ name: 'DB', vault_path: SECRET_PATH, anchor: 'process', rotation: 'restart' }] },
  { replicas: 1, image: 'web:2', rollout: { ...rollout, autoRollback: false } },
  { replicas: 2, image: 'web:3', rollout: { ...rollout, autoRollback: true } },
];

const healthCheck = { type: 'exec', command: ['true'] } as const;
const sound = { replicas: 2, image: 'web:5', healthCheck, rollout };

/** A revision that is complete before the other comes: only then there is something to go back to, or to compare a canary with. */
export const rolls: readonly (readonly [before: Partial<StoredDeployment>, after: Partial<StoredDeployment>])[] = [
  [sound, { ...sound, image: 'bad:1', rollout: { ...rollout, autoRollback: false } }],
  [sound, { ...sound, image: 'bad:1', rollout: { ...rollout, autoRollback: true } }],
  [sound, { ...sound, image: 'web:6', placement: { residency: { country: 'IT' } } }],
  [sound, { ...sound, image: 'web:6', resources: { cpu: '900m' }, rollout: { ...rollout, autoRollback: false } }],
  [sound, { ...sound, image: 'bad:2', rollout: { ...rollout, canary: { replicas: 1 } } }],
  [sound, { ...sound, image: 'web:7', rollout: { ...rollout, canary: { replicas: 1 } } }],
  [sound, { ...sound, image: 'web:7', rollout: { ...rollout, canary: { replicas: 1, hold: '30s' } } }],
  [sound, { ...sound, image: 'bad:3', rollout: { ...rollout, paused: true } }],
  [
    { ...sound, replicas: 3, ports: [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }] },
    { ...sound, replicas: 5, image: 'web:8', rollout: { ...rollout, canary: { replicas: 1 } } },
  ],
];

export const jobSpecs: readonly Partial<Job>[] = [
  {},
  { backoffLimit: 2 },
  { resources: { cpu: '700m' } },
  { placement: { residency: { country: 'DE' } } },
  { secrets: [{ name: 'DB', vault_path: 'deployments/absent', anchor: 'process', rotation: 'restart' }] },
];

export const reports: readonly Partial<Report>[] = [
  {},
  { health: 'unhealthy' },
  { health: 'starting' },
  { state: 'exited', reason: 'crash_loop', message: 'exited with code 3', exitCode: 3, restarts: 4 },
  { state: 'failed', reason: 'image_pull_failed', message: 'no such image' },
  { state: 'failed', reason: 'a_word_of_a_later_release' },
  { state: 'creating' },
  { state: 'creating', reason: 'create_stuck', message: 'the engine does not finish', since: AT },
  { state: 'pulling', reason: 'pull_stuck', message: 'nothing of the image arrives', since: AT },
  { state: 'failed', reason: 'image_login_required', message: 'the registry wants a login' },
];

export const quotaChoices = [{ containers: 1 }, { cpu: 1 }, {}] as const;

export type Act =
  | { readonly kind: 'enrol' | 'lose' | 'drain' | 'engine_away' | 'engine_back' | 'forget'; readonly node: number }
  | { readonly kind: 'quota'; readonly choice: number }
  | { readonly kind: 'rotate'; readonly phase: RotationRecord['phase'] }
  | { readonly kind: 'agents'; readonly work: boolean }
  | { readonly kind: 'put' | 'report'; readonly name: (typeof NAMES)[number]; readonly choice: number }
  | { readonly kind: 'roll'; readonly name: (typeof NAMES)[number]; readonly choice: number }
  | { readonly kind: 'order'; readonly name: (typeof NAMES)[number]; readonly action: CanaryOrder['action'] }
  | { readonly kind: 'job'; readonly choice: number }
  | { readonly kind: 'job_ends'; readonly exitCode: number }
  | { readonly kind: 'job_deleted' }
  | { readonly kind: 'delete'; readonly name: (typeof NAMES)[number] };

const node = fc.nat(NODES.length - 1);
const name = fc.constantFrom(...NAMES);
export const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('enrol', 'lose', 'drain', 'engine_away', 'engine_back', 'forget'),
      node,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('quota' as const), choice: fc.nat(quotaChoices.length - 1) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('rotate' as const), phase: fc.constantFrom('stage', 'promote', 'abort') }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('agents' as const), work: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('put' as const), name, choice: fc.nat(specs.length - 1) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('report' as const), name, choice: fc.nat(reports.length - 1) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('roll' as const), name, choice: fc.nat(rolls.length - 1) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('order' as const), name, action: fc.constantFrom('promote', 'abort') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('job' as const), choice: fc.nat(jobSpecs.length - 1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('job_ends' as const), exitCode: fc.constantFrom(0, 3) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'job_deleted' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), name }) },
);
