import { expect } from 'chai';

import type { Condition } from '../meta/index.js';
import type { DeploymentStatus, ReplicaStatus, StoredDeployment } from './deployment.js';
import { listSteps, listWaitingSteps } from './steps.js';

const THEN = '2030-01-01T00:00:00.000Z';
const metadata = { tenant: 't1', uid: 'dep_1', generation: 1, createdAt: THEN, updatedAt: THEN, specHash: 'h' };
const web = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata,
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 2,
  secretsVersion: 0,
  ...change,
});

const condition = (
  type: string,
  status: Condition['status'],
  reason: Condition['reason'],
  message: string = reason,
): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: THEN,
  observedGeneration: 1,
});
const placed = condition('Placed', 'True', 'AllPlaced', 'every replica has a node');
const refused = condition('Placed', 'False', 'Unschedulable', '0 of 2 nodes: 2 anti_affinity');

const seen = (replica: number, change: Partial<ReplicaStatus> = {}) => ({
  replica,
  nodeId: 'node_1',
  state: 'running',
  health: 'none',
  restarts: 0,
  containerId: 'c',
  ...change,
});
const waits = (replica: number) => seen(replica, { nodeId: null, state: 'unplaced' });

const status = (
  phase: DeploymentStatus['phase'],
  placements: readonly ReplicaStatus[],
  conditions: readonly Condition[],
  change: Partial<DeploymentStatus> = {},
): DeploymentStatus => {
  const ready = placements.filter(({ state, health }) => state === 'running' && health !== 'unhealthy').length;
  return {
    uid: 'dep_1',
    phase,
    message: `${ready} ready`,
    replicas: placements.length,
    readyReplicas: ready,
    updatedReplicas: placements.length,
    observedGeneration: 1,
    revision: 1,
    secretsVersion: 0,
    placements,
    conditions,
    ...change,
  };
};

const secrets = [{ name: 'DB', vault_path: 'deployments/db', anchor: 'process', rotation: 'restart' }] as const;

describe('steps of a deployment', () => {
  /** `done`, `waiting`, `pending` and `not needed` by their first letters. */
  const cases: readonly [
    name: string,
    StoredDeployment,
    DeploymentStatus,
    states: string,
    waitsFor: readonly RegExp[],
  ][] = [
    ['all well', web(), status('Running', [seen(0), seen(1)], [placed]), 'ddnddd', []],
    [
      'not looked at yet',
      web({ metadata: { ...metadata, generation: 2 } }),
      status('Running', [seen(0), seen(1)], [placed]),
      'wdnddd',
      [/generation 2 is stored; the controllers have not looked at it yet/],
    ],
    [
      'no node',
      web(),
      status('Unschedulable', [waits(0), waits(1)], [refused], { refusedBy: ['anti_affinity'] }),
      'dwnppp',
      [/0 of 2 nodes: 2 anti_affinity.*anti_affinity: Enrol another node, ask for fewer replicas/],
    ],
    [
      'a node, for two causes',
      web(),
      status(
        'Unschedulable',
        [waits(0), waits(1)],
        [condition('Placed', 'False', 'Unschedulable', '0 of 3 nodes: 2 not ready and port, 1 quota')],
        { refusedBy: ['ready', 'port', 'quota'] },
      ),
      'dwnppp',
      [/not ready: "moor get nodes".*port: Choose another hostPort.*quota: Remove other deployments/],
    ],
    [
      'a first node',
      web(),
      status('Unschedulable', [waits(0)], [condition('Placed', 'False', 'Unschedulable', 'the tenant has no nodes')], {
        refusedBy: [],
      }),
      'dwnppp',
      [/moor nodes join-token/],
    ],
    [
      'a node, where no filters are said',
      web(),
      status('Unschedulable', [waits(0), waits(1)], [refused]),
      'dwnppp',
      [/moor explain deployment web/],
    ],
    [
      'a node that the platform keeps for itself',
      web(),
      status('Unschedulable', [waits(0)], [refused], { refusedBy: ['control_plane', 'tenant'] }),
      'dwnppp',
      [/control_plane: Enrol another node.*tenant: Enrol a node of the tenant itself/],
    ],
    [
      'the phase of a rotation',
      web({ replicas: 1 }),
      status('Running', [seen(0)], [placed, condition('Rotating', 'True', 'PhaseIncomplete', 'db is at promote')]),
      'ddndddw',
      [/db is at promote.*moor rotate web --phase abort/],
    ],
    [
      'an engine that does not answer',
      web(),
      status('Degraded', [seen(0, { state: 'unknown', health: 'unknown' }), seen(1)], [placed]),
      'ddndwp',
      [/1 of 2/],
    ],
    [
      'a node for one of two',
      web(),
      status('Unschedulable', [seen(0), waits(1)], [refused]),
      'dwnppp',
      [/0 of 2 nodes/],
    ],
    [
      'a dependency',
      web({ dependsOn: [{ name: 'db', condition: 'healthy' }] }),
      status(
        'Waiting',
        [],
        [
          condition('Placed', 'False', 'Waiting', '0 of 2 replicas have a node'),
          condition('DependenciesHealthy', 'False', 'Unmet', 'waits for db, which does not exist'),
        ],
      ),
      'dwnppp',
      [/waits for db, which does not exist.*moor describe deployment <dependency>/],
    ],
    [
      'a secret',
      web({ secrets }),
      status(
        'Degraded',
        [seen(0, { state: 'assigned' }), seen(1, { state: 'assigned' })],
        [placed, condition('SecretsResolved', 'False', 'secret_missing', 'there is no secret deployments/db')],
      ),
      'ddwppp',
      [/there is no secret deployments\/db.*moor secrets write/],
    ],
    [
      'secrets of the template that stays beside a canary',
      web(),
      status(
        'Degraded',
        [seen(0, { state: 'assigned' }), seen(1, { state: 'assigned' })],
        [placed, condition('SecretsResolved', 'False', 'secret_missing', 'there is no secret deployments/db')],
      ),
      'ddwppp',
      [/there is no secret deployments\/db.*moor secrets write/],
    ],
    [
      'a node, before secrets are looked up',
      web({ secrets }),
      status(
        'Pending',
        [waits(0), waits(1)],
        [condition('Placed', 'False', 'Waiting'), condition('SecretsResolved', 'Unknown', 'ResolutionPending')],
      ),
      'dwpppp',
      [/Waiting/],
    ],
    [
      'an image',
      web(),
      status(
        'Degraded',
        [seen(0), seen(1, { state: 'failed', reason: 'image_pull_failed', message: 'no such tag' })],
        [placed],
      ),
      'ddnwpp',
      [/1 of 2 containers created; replica 1 is failed.*replica 1: no such tag.*Check the name and tag/],
    ],
    [
      'the bytes of an image',
      web({ replicas: 1 }),
      status(
        'Progressing',
        [seen(0, { state: 'pulling', containerId: null, pull: { receivedBytes: 2 ** 20, totalBytes: 2 ** 22 } })],
        [placed],
      ),
      'ddnwpp',
      [/0 of 1 container created; replica 0 is pulling: 1MiB of 4MiB \(25 %\)/],
    ],
    [
      'an image and a node at once',
      web(),
      status('Unschedulable', [seen(0, { state: 'failed', reason: 'image_pull_failed' }), waits(1)], [refused]),
      'dwnwpp',
      [/0 of 2 nodes/, /replica 0 is failed/],
    ],
    [
      'its health check',
      web(),
      status('Degraded', [seen(0), seen(1, { health: 'unhealthy' })], [placed]),
      'ddndwp',
      [/1 of 2 replicas ready; replica 1 is unhealthy.*moor logs web/],
    ],
    [
      'the end of a crash loop',
      web(),
      status(
        'Degraded',
        [seen(0, { state: 'exited', reason: 'crash_loop', message: 'exit code 3' }), seen(1, { state: 'exited' })],
        [placed],
      ),
      'ddndwp',
      [/replica 0 is exited, and 1 other.*replica 0: exit code 3.*moor logs web/],
    ],
    [
      'the last old replica',
      web(),
      status('Progressing', [seen(0), seen(1)], [placed], { updatedReplicas: 1 }),
      'ddnddw',
      [/1 of 2 replicas up to date/],
    ],
    [
      'a container that does not stop',
      web({ replicas: 1 }),
      status(
        'Running',
        [seen(0), seen(1, { state: 'stopping', reason: 'stop_stuck', message: 'engine is slow' })],
        [placed],
        {
          updatedReplicas: 1,
          readyReplicas: 1,
        },
      ),
      'ddnddw',
      [/1 container to be removed.*replica 1: engine is slow/],
    ],
    ['nothing, stopped', web({ replicas: 0 }), status('Stopped', [], [placed]), 'dnnnnd', []],
    [
      'a container of a deployment that was just stopped, before it is told to leave',
      web({ replicas: 0 }),
      status('Progressing', [seen(0)], [placed], { readyReplicas: 0, updatedReplicas: 0 }),
      'dnnnnw',
      [/1 container to be removed/],
    ],
    [
      'the end of its containers',
      web({ metadata: { ...metadata, deletedAt: THEN } }),
      status('Deleting', [seen(0, { state: 'stopping' })], [], { message: '1 container left to remove' }),
      'dw',
      [/1 container left to remove/],
    ],
  ];
  for (const [name, deployment, seenStatus, states, waitsFor] of cases) {
    it(`show what is waited for: ${name}`, () => {
      const steps = listSteps(deployment, seenStatus);
      expect(steps.map(({ state }) => state[0]).join('')).to.equal(states);
      const waiting = listWaitingSteps(steps).map(({ detail, error = '', next = '' }) => `${detail} ${error} ${next}`);
      expect(waiting).to.have.length(waitsFor.length);
      for (const [at, text] of waitsFor.entries()) expect(waiting[at]).to.match(text);
    });
  }

  it('are one that waits, before there is a status', () => {
    const none = { ...status('Pending', [], []), observedGeneration: 0 };
    expect(listWaitingSteps(listSteps(web(), none)).map(({ step }) => step)).to.deep.equal(['admitted', 'placed']);
  });
});
