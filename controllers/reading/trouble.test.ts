import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { ContainerTemplate } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { ObservedReplica } from './observed.js';
import { explainNotMoved, explainTrouble } from './trouble.js';

const THEN = '2030-01-01T00:00:00.000Z';
const SOON = '2030-01-01T00:00:30.000Z';
const LATER = '2030-01-01T00:05:00.000Z';

interface Sketch {
  readonly report?: Partial<Report>;
  readonly template?: Partial<ContainerTemplate>;
  readonly seen?: Partial<ObservedReplica>;
  readonly retiring?: boolean;
}

const observe = ({ report, template = {}, seen = {}, retiring = false }: Sketch): ObservedReplica => ({
  replica: {
    uid: 'r0',
    tenant: 't1',
    deployment: 'web',
    deploymentUid: 'dep_1',
    slot: 0,
    generation: 1,
    templateHash: 'h',
    template: { image: 'r.test/web:1', secretsVersion: 0, ...template },
    createdAt: THEN,
    nodeId: 'node_1',
    placedAt: THEN,
    ...(retiring && { retiringSince: THEN }),
  },
  revision: 1,
  node: 'well',
  nodeName: 'attic',
  misplaced: false,
  report: report && {
    replica: 'r0',
    deployment: 'web',
    slot: 0,
    nodeId: 'node_1',
    templateHash: 'h',
    state: 'running',
    health: 'none',
    restarts: 0,
    at: THEN,
    ...report,
  },
  ...seen,
});

const ended = (exitCode: number, more: object = {}, template: Sketch['template'] = {}): Sketch => ({
  report: { state: 'exited', exitCode, restarts: 2, reason: 'crash_loop', lastEnd: { exitCode, at: THEN, ...more } },
  template,
});
const refusal = (reason: string, message: string): Sketch => ({ report: { state: 'failed', reason, message } });
const check = { type: 'exec', command: ['/bin/check', 'now'], timeout: '10s' } as const;
const unhealthy = (failedCheck: object): Sketch => ({
  report: { health: 'unhealthy', failedCheck: { exitCode: 1, at: THEN, ...failedCheck } },
  template: { healthCheck: check },
});

describe('explainTrouble', () => {
  const cases: readonly (readonly [name: string, given: Sketch, reason: string, ...says: readonly RegExp[]])[] = [
    ['a node without heartbeats', { seen: { node: 'failed', nodeSince: THEN } }, 'node_failed', /attic.*2030.*check/],
    ['an engine that is away', { seen: { node: 'unobserved', nodeSince: THEN } }, 'engine_unreachable', /attic.*start/],
    [
      'a container out of memory',
      ended(137, { oomKilled: true }, { resources: { limits: { memory: '64Mi' } } }),
      'oom_killed',
      /out of memory \(limit 64Mi\), exit code 137: raise resources\.limits\.memory/,
      /2 restarts so far/,
    ],
    [
      'a word of a later release, without a message',
      refusal('lost_in_space', ''),
      'container_failed',
      /^its agent gives "lost_in_space" .* log of the agent of node attic$/,
    ],
    ['a container that was killed', ended(137), 'crash_loop', /killed \(exit code 137\).*attic/],
    ['a program that ended well', ended(0), 'crash_loop', /exit code 0, as if its work were done/],
    ['a program that ended badly', ended(3), 'crash_loop', /exit code 3: its last lines say why/],
    [
      'a command that is missing',
      ended(127),
      'crash_loop',
      /not found \(exit code 127\): correct entrypoint or command/,
    ],
    [
      'a program of another architecture',
      ended(255, { output: 'exec /bin/web: exec format error' }),
      'crash_loop',
      /another architecture.*push an image/,
    ],
    [
      'a program that writes to a read-only root',
      ended(1, { output: 'sh: can’t create /x: Read-only file system' }, { readOnlyRootFilesystem: true }),
      'crash_loop',
      /read-only root file system.*\/tmp or \/run/,
    ],
    [
      'an image that is absent',
      refusal('image_pull_failed', 'no such image'),
      'image_pull_failed',
      /r\.test\/web:1: no/,
    ],
    [
      'an entry point that is absent',
      refusal('start_failed', 'exec: "/nope": stat /nope: no such file or directory'),
      'start_failed',
      /\/nope.*correct entrypoint or command/,
    ],
    [
      'a user that is absent',
      refusal('start_failed', 'unable to find user nobody: no matching entries in passwd file'),
      'start_failed',
      /set user to a number/,
    ],
    [
      'a host port that is taken',
      refusal('start_failed', 'Bind for 0.0.0.0:80 failed: port is already allocated'),
      'start_failed',
      /0\.0\.0\.0:80.*choose another hostPort/,
    ],
    [
      'a health check',
      unhealthy({ output: 'no' }),
      'unhealthy',
      /"\/bin\/check now" fails with exit code 1; its output/,
    ],
    ['a slow health check', unhealthy({ timedOut: true }), 'unhealthy', /within 10s.*raise healthCheck\.timeout/],
    [
      'a stop that does not end',
      { report: { state: 'stopping', reason: 'stop_stuck', message: 'does not finish' }, retiring: true },
      'stop_stuck',
      /does not finish/,
    ],
    [
      'a container that is never removed',
      { report: { state: 'running' }, retiring: true },
      'stop_overdue',
      /agent of node attic/,
    ],
    [
      'a replica that its agent never reports',
      {},
      'report_missing',
      /agent of node attic sends heartbeats, but has reported nothing .* restart it/,
    ],
  ];
  for (const [name, given, reason, ...says] of cases) {
    it(`says the cause and the remedy of ${name}`, () => {
      const trouble = explainTrouble(observe(given), LATER);
      expect(trouble?.reason).to.equal(reason);
      for (const text of says) expect(trouble?.message).to.match(text);
    });
  }

  it('gives a container that is removed the time to stop that its template gives it', () => {
    const seen = observe({ report: { state: 'running' }, retiring: true });
    const patient = { ...seen.replica, template: { ...seen.replica.template, stopGracePeriod: '1h' } };
    expect(explainTrouble({ ...seen, replica: patient }, LATER)).to.equal(undefined);
  });

  const wells: readonly (readonly [name: string, given: Sketch])[] = [
    ['a container that runs', { report: {} }],
    ['a container that starts', { report: { health: 'starting' } }],
    ['a container that is being removed', { report: {}, retiring: true }],
    ['an unhealthy container that is being removed', { ...unhealthy({ output: 'no' }), retiring: true }],
    ['an ended container that is being removed', { report: { state: 'exited', exitCode: 3 }, retiring: true }],
    ['a container that is gone', { report: { state: 'removed' }, retiring: true }],
    ['a replica that its agent has not reported yet', {}],
  ];
  for (const [name, given] of wells) {
    it(`says nothing of ${name}`, () => expect(explainTrouble(observe(given), SOON)).to.equal(undefined));
  }
});

describe('explainNotMoved', () => {
  const web = { metadata: { tenant: 't1', uid: 'dep_1' }, name: 'web', replicas: 1 } as StoredDeployment;
  const pinned = { ...web, nodeId: 'node_1' };
  const lost = { by: 'heartbeat_missed', still: { key: 'k', at: 1 } } as const;
  const cases: readonly (readonly [name: string, Partial<ObservedReplica>, StoredDeployment, RegExp | undefined])[] = [
    ['is not said of a node that is well', {}, pinned, undefined],
    [
      'names the node of a pinned replica',
      { node: 'failed', lost },
      pinned,
      /names node attic \(nodeId\): remove nodeId/,
    ],
    ['names the node of a pinned replica of a drained node', { draining: true }, pinned, /nodeId/],
    ['says that a failed node may come back', { node: 'failed' }, web, /grace period/],
    ['says that no other node can take it', { node: 'failed', lost }, web, /moor explain deployment web/],
    ['says that a container of a dead engine may run', { node: 'unobserved' }, web, /may still run.*fence attic/],
  ];
  for (const [name, seen, deployment, says] of cases) {
    it(name, () => {
      const reason = explainNotMoved(observe({ report: {}, seen }), deployment);
      if (says) expect(reason).to.match(says);
      else expect(reason).to.equal(undefined);
    });
  }
});
