import { expect } from 'chai';

import type { VolumeMove } from '../../crds/volume/index.js';
import {
  at,
  decide,
  fences,
  type Given,
  host,
  lose,
  makeStatus,
  others,
  primary,
  reportReplica,
} from './promotion.testing.js';

const DAY = 86_400;
const hosts = [host('a'), ...others];
const copies = ['b', 'c'].map(name => ({ nodeId: `node_${name}`, state: 'synced' as const, syncedAt: at(280) }));
const serving = [primary('a', 1, { copies }), reportReplica('b', 280), reportReplica('c', 290)];
const move = (change: Partial<VolumeMove>): VolumeMove => ({
  phase: 'Copying',
  message: '',
  from: 'node_a',
  to: 'node_b',
  generation: 2,
  since: at(290),
  ...change,
});
const order = (second: number) => ({ move: { nodeId: 'node_b', generation: 2, at: at(second) } });
const down = (second: number) =>
  makeStatus('Degraded', { move: move({ phase: 'Stopping', epoch: 2, stoppedAt: at(second) }), finalFor: 2 });
const drained = (second: number): Given => ({
  status: makeStatus('Ready', {
    copies,
    lastMove: { from: 'node_a', to: 'node_b', message: '', isAborted: true, at: at(second) },
  }),
  reports: serving,
  hosts: [host('a', { status: 'draining' }), ...others],
});
const failing = primary('a', 1, { state: 'failed', isMissing: true, at: at(-DAY) });

describe('what a volume waits for', () => {
  const cases: readonly (readonly [name: string, given: Given, found: string])[] = [
    [
      'is no promotion for a primary that this leader has just found silent, whatever time its status says',
      {
        status: makeStatus('Degraded'),
        reports: [fences, reportReplica('b', 190)],
        hosts: [
          { ...lose('a'), lost: { ...lose('a', 'heartbeat_missed', at(-DAY)).lost!, silentMs: 59_999 } },
          ...others,
        ],
      },
      'Degraded node_a',
    ],
    [
      'is a promotion for one that this leader has seen silent for long, by a time of tomorrow',
      {
        status: makeStatus('Degraded'),
        reports: [fences, reportReplica('b', 190)],
        hosts: [
          { ...lose('a'), lost: { ...lose('a', 'heartbeat_missed', at(DAY)).lost!, silentMs: 60_000 } },
          ...others,
        ],
      },
      'Promoting node_b',
    ],
    [
      'is no promotion for bytes that this leader has just found missing',
      {
        status: makeStatus('Degraded', { since: at(-DAY) }),
        reports: [failing, ...serving.slice(1)],
        hosts,
        ages: { phase: 0 },
      },
      'Degraded node_a',
    ],
    [
      'is no other copy while this leader has just seen one be chosen',
      {
        status: makeStatus('Promoting', { since: at(-DAY), primaryNode: 'node_b', epoch: 2, copies: copies.slice(1) }),
        reports: serving.slice(1),
        hosts,
        ages: { phase: 0 },
      },
      'Promoting node_b',
    ],
    [
      'is no abort of a move that has just stopped what mounts it',
      { status: down(-DAY), volume: order(290), reports: serving, hosts, ages: { stopped: 299_999 } },
      'Degraded node_a Stopping',
    ],
    [
      'is an abort of a move that was stopped for five minutes, by a time of tomorrow',
      { status: down(DAY), volume: order(290), reports: serving, hosts, ages: { stopped: 300_000 } },
      'Ready node_a aborted',
    ],
    [
      'is a move that a server has just ordered whose clock is two days back',
      { status: makeStatus('Ready', { copies }), volume: order(-2 * DAY), reports: serving, hosts, ages: { asked: 0 } },
      'Degraded node_a Stopping',
    ],
    [
      'is the next try of a drain, by a time of tomorrow',
      { ...drained(DAY), ages: { aborted: 30_000 } },
      'Degraded node_a Stopping',
    ],
    [
      'is no other try of a drain that has just failed, by a time of yesterday',
      { ...drained(-DAY), ages: { aborted: 0 } },
      'Ready node_a aborted',
    ],
  ];
  for (const [name, given, found] of cases) {
    it(name, () => {
      const { phase, primaryNode, move: next, lastMove } = decide(given).status;
      const told = [phase, primaryNode, next?.phase ?? (lastMove?.isAborted && 'aborted')];
      expect(told.filter(Boolean).join(' ')).to.equal(found);
    });
  }
});
