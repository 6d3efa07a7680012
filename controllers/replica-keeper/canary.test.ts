import { expect } from 'chai';
import fc from 'fast-check';

import { getCanarySize, getRolloutBounds, type StoredDeployment } from '../../crds/deployment/index.js';
import { computeTemplateHash, isUpToDate, toContainerTemplate } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { type CanaryRecord, computeContentHash } from '../../crds/rollout/index.js';
import { isAvailable, type ObservedReplica } from '../reading/index.js';
import { decideCanary } from './canary.js';
import { decideReplicas } from './decide.js';
import { judgeCanary } from './judge-canary.js';
import { type ReplicaCase, old, olds, rollout, seen, settling, steps, wanting } from './replicas.testing.js';

const baseline = { templateHash: computeTemplateHash(old), template: toContainerTemplate(old) };
const held = (replicas: number, canary: number | string, change: Partial<StoredDeployment> = {}) =>
  wanting({ replicas, rollout: { ...rollout, canary: { replicas: canary } }, ...change });
const stopFirst = { ...rollout, maxSurge: 0, maxUnavailable: 1, canary: { replicas: 1 } };
const other = wanting({ image: 'web:0' });
const pinned = { ...old, nodeId: 'node_1' };
const ports = [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }] as const;

const sizes: readonly (readonly [name: string, deployment: StoredDeployment, next: number, old: number])[] = [
  ['as many as asked for', held(5, 2), 2, 3],
  ['a percentage, rounded up', held(5, '21%'), 2, 3],
  ['at most all but one', held(3, 9), 2, 1],
  ['of one replica, beside it', held(1, 1), 1, 1],
  ['of one replica, in its place without surge', held(1, 1, { rollout: stopFirst }), 1, 0],
  ['of one replica, in its place when both need one host port', held(1, 1, { ports }), 1, 0],
  ['of none', held(0, 1), 0, 0],
];

const named = held(3, 1, { image: old.image, nodeId: 'node_1' });

const plans: readonly (readonly [
  name: string,
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
  steps: readonly string[],
  input?: object,
])[] = [
  ['begins beside the old ones', held(3, 1), olds('ready', 'ready', 'ready'), ['fill 3']],
  ['takes one old one away for it', held(3, 1), [...olds('ready', 'ready', 'ready'), seen(3)], ['retire 0']],
  ['then replaces nothing', held(3, 1), [...olds('ready', 'ready'), seen(3)], []],
  ['keeps old ones that fail: they are compared with', held(3, 1), [...olds('ready', 'crash_loop'), seen(3)], []],
  ['makes an old one that was lost anew', held(3, 1), [seen(0, 'ready', old), seen(3)], ['copy 1']],
  ['makes both anew when none is left', held(3, 1), [seen(3)], ['copy 0', 'copy 1']],
  ['makes the canary anew', held(3, 1), olds('ready', 'ready'), ['fill 2']],
  [
    'takes what is left of another canary before what it is compared with',
    held(3, 1),
    [...olds('ready', 'ready'), seen(2, 'ready', other), seen(3)],
    ['retire 2'],
  ],
  ['stops first where it must', held(3, 1, { rollout: stopFirst }), olds('ready', 'ready', 'ready'), ['retire 0']],
  ['that is made smaller makes an old one first', held(3, 1), [seen(0, 'ready', old), seen(1), seen(2)], ['copy 3']],
  [
    'that is made smaller goes when the old one is available',
    held(3, 1),
    [seen(0, 'ready', old), seen(1), seen(2), seen(3, 'ready', old)],
    ['retire 2'],
  ],
  ['scales down old ones only', held(2, 1), [...olds('ready', 'ready', 'ready'), seen(3)], ['retire 0', 'retire 1']],
  [
    'does nothing while it is paused',
    held(3, 1, { rollout: { ...rollout, paused: true, canary: { replicas: 2 } } }),
    [...olds('ready', 'ready'), seen(3)],
    [],
  ],
  [
    'leaves a node that is drained, and is made anew first',
    held(3, 1),
    [...olds('ready', 'ready'), seen(3, 'draining')],
    ['fill 2'],
    { spare: 1 },
  ],
  [
    'waits for its successor on a node that is drained',
    held(3, 1),
    [...olds('ready', 'ready'), seen(2, 'starting'), seen(3, 'draining')],
    [],
    { spare: 1 },
  ],
  [
    'leaves a node that is drained when its successor is available',
    held(3, 1),
    [...olds('ready', 'ready'), seen(2), seen(3, 'draining')],
    ['retire 3'],
    { spare: 1 },
  ],
  [
    'has an old one on a node that is drained made anew first',
    held(3, 1),
    [seen(0, 'ready', old), seen(1, 'draining', old), seen(3)],
    ['copy 2'],
    { spare: 1 },
  ],
  ...(['nowhere', 'starting'] as const).map(
    how =>
      [
        `keeps the successor of an old one on a node that is drained, which is ${how}`,
        held(3, 1),
        [seen(0, 'ready', old), seen(1, 'draining', old), seen(2, how, old), seen(3)],
        [],
        { spare: 1 },
      ] as const,
  ),
  [
    'keeps the one that it is compared with, and its successor, although one may be unavailable',
    held(1, 1, { rollout: { ...rollout, maxUnavailable: 1, canary: { replicas: 1 } } }),
    [seen(0, 'starting'), seen(1, 'draining', old), seen(2, 'nowhere', old)],
    [],
    { spare: 1 },
  ],
  [
    'takes an old one that fails away before the successor of one on a node that is drained',
    held(3, 2, { rollout: { ...stopFirst, canary: { replicas: 2 } } }),
    [seen(0, 'draining', old), seen(1, 'starting', old), seen(2, 'crash_loop', old), seen(3)],
    ['retire 2'],
    { spare: 1 },
  ],
  [
    'does not keep one old one more for one on a node that is drained, when it fails',
    held(3, 1),
    [seen(0, 'draining', old), seen(1, 'crash_loop', old), seen(2, 'ready', old), seen(3)],
    ['retire 1'],
    { spare: 1 },
  ],
  [
    'keeps what it lacks, though no node has room for it and another of it is on a node that is drained',
    held(3, 2),
    [...olds('ready', 'ready'), seen(2, 'draining'), seen(3, 'nowhere')],
    [],
    { spare: -1, refused: 1 },
  ],
  [
    'makes no successor for one too many on a node that is drained',
    held(3, 1, { rollout: stopFirst }),
    [seen(0, 'crash_loop', old), seen(1), seen(2, 'draining')],
    [],
    { spare: 1 },
  ],
  [
    'takes an old one off a node that is drained when its successor is available',
    held(3, 1),
    [seen(0, 'ready', old), seen(1, 'draining', old), seen(2, 'ready', old), seen(3)],
    ['retire 1'],
    { spare: 1 },
  ],
  [
    'that only names a node is made beside those that are there already',
    named,
    olds('ready', 'ready', 'ready'),
    ['fill 3'],
  ],
  [
    'that only names a node copies nothing that is there already',
    named,
    [...olds('ready', 'ready'), seen(3, 'ready', named)],
    [],
  ],
  [
    'keeps old ones that fail, though the revision that was complete did not name their node any more',
    held(3, 1),
    [seen(0, 'ready', pinned), seen(1, 'crash_loop', pinned), seen(3)],
    [],
  ],
  [
    'takes nothing that serves away while a dependency is not met',
    held(3, 1),
    [...olds('ready', 'ready', 'ready'), seen(3)],
    [],
    { held: true },
  ],
];

const report = (slot: number, of: StoredDeployment, change: Partial<Report>): ObservedReplica => {
  const each = seen(slot, 'ready', of);
  return { ...each, report: { ...each.report!, ...change } };
};
const failed = (slot: number) => report(slot, wanting(), { state: 'failed', reason: 'image_pull_failed' });
const canary: CanaryRecord = { revision: 2, contentHash: 'c', startedAt: '2030-01-01T00:00:00.000Z', baseline };
const healthy = { since: new Date(settling.now - 60_000).toISOString(), restarted: { r3: 1, r0: 4 } };
const judge = (
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
  change: Partial<CanaryRecord>,
  watchedSince = 0,
) => judgeCanary({ deployment, replicas, canary: { ...canary, ...change }, watchedSince, ...settling });
const timed = (hold: string) => wanting({ rollout: { ...rollout, canary: { replicas: 1, hold } } });

const verdicts: readonly (readonly [
  name: string,
  change: Partial<CanaryRecord>,
  replicas: readonly ObservedReplica[],
  kind: string,
  deployment?: StoredDeployment,
])[] = [
  ['starts', {}, [...olds('ready', 'ready'), seen(3, 'starting')], 'starting'],
  ['becomes healthy', {}, [...olds('ready', 'ready'), seen(3)], 'changed'],
  ['is unhealthy', {}, [...olds('ready', 'ready'), seen(3, 'unhealthy')], 'worse'],
  ['crashes in a loop', {}, [...olds('ready', 'ready'), seen(3, 'crash_loop')], 'worse'],
  ['may end while it starts', {}, [...olds('ready', 'ready'), seen(3, 'exited')], 'starting'],
  ['must not end once it was healthy', { healthy }, [...olds('ready', 'ready'), seen(3, 'exited')], 'worse'],
  ['may fail to start before it was healthy', {}, [...olds('ready', 'ready'), failed(3)], 'starting'],
  ['must not fail to start once it was healthy', { healthy }, [...olds('ready', 'ready'), failed(3)], 'worse'],
  ['is ill like all others', { healthy }, [...olds('unhealthy', 'unhealthy'), seen(3, 'unhealthy')], 'changed'],
  ['is ill more than others', {}, [...olds('ready', 'unhealthy'), seen(3, 'unhealthy')], 'worse'],
  [
    'recovers later than the others',
    { isRecovering: true },
    [...olds('ready', 'ready'), seen(3, 'unhealthy')],
    'starting',
  ],
  [
    'is on a node that sends no heartbeats',
    { healthy },
    [...olds('ready', 'ready'), { ...seen(3, 'unhealthy'), node: 'unobserved' }],
    'changed',
  ],
  ['is lost', { healthy }, olds('ready', 'ready'), 'changed'],
  ['holds without an end', { healthy }, [...olds('ready', 'ready'), report(3, wanting(), { restarts: 1 })], 'holds'],
  ['restarted more often', { healthy }, [...olds('ready', 'ready'), report(3, wanting(), { restarts: 2 })], 'worse'],
  [
    'restarted as often as the others',
    { healthy },
    [report(0, old, { restarts: 5 }), report(1, old, { restarts: 1 }), report(3, wanting(), { restarts: 2 })],
    'holds',
  ],
  ['came to another node', { healthy }, [...olds('ready', 'ready'), seen(4)], 'holds'],
  [
    'restarts where it came to',
    { healthy },
    [...olds('ready', 'ready'), report(4, wanting(), { restarts: 1 })],
    'worse',
  ],
  [
    'does not know how often it had restarted',
    { healthy: { since: healthy.since } },
    [...olds('ready', 'ready'), report(3, wanting(), { restarts: 9 })],
    'changed',
  ],
  ['holds', { healthy }, [...olds('ready', 'ready'), seen(3)], 'holds', timed('61s')],
  ['has held out', { healthy }, [...olds('ready', 'ready'), seen(3)], 'held out', timed('60s')],
  ['has nothing beside it and is unhealthy', {}, [seen(3, 'unhealthy')], 'worse'],
];

describe('a canary, decided', () => {
  for (const [name, deployment, next, rest] of sizes) {
    it(`has a size: ${name}`, () => expect(getCanarySize(deployment)).to.deep.equal({ next, old: rest }));
  }
  for (const [name, deployment, replicas, expected, input] of plans) {
    it(name, () => expect(steps(deployment, replicas, { baseline, ...input })).to.deep.equal(expected));
  }
  for (const [name, change, replicas, kind, deployment = held(3, 1)] of verdicts) {
    it(`is judged: it ${name}`, () => {
      const verdict = judge(deployment, replicas, change);
      expect(verdict.kind).to.equal(kind);
    });
  }

  it('whose hold began ahead of this clock, which another one set, begins it now', () => {
    const ahead = { ...healthy, since: new Date(settling.now + 3_600_000).toISOString() };
    const verdict = judge(timed('60s'), [...olds('ready', 'ready'), seen(3)], { healthy: ahead });
    const since = new Date(settling.now).toISOString();
    expect(verdict).to.deep.equal({ kind: 'changed', healthy: { ...healthy, since } });
    expect(judge(timed('60s'), [...olds('ready', 'ready'), seen(3)], { healthy: { ...healthy, since } })).to.deep.equal(
      {
        kind: 'holds',
        inMs: 60_000,
      },
    );
  });

  it('has not held out before whoever leads now has watched it for a while, at most for its hold', () => {
    const since = new Date(settling.now - 86_400_000).toISOString();
    const watched = (hold: string, ms: number) =>
      judge(timed(hold), [...olds('ready', 'ready'), seen(3)], { healthy: { ...healthy, since } }, settling.now - ms);
    expect(watched('1h', 1)).to.deep.equal({ kind: 'holds', inMs: 59_999 });
    expect(watched('10s', 1)).to.deep.equal({ kind: 'holds', inMs: 9_999 });
    expect(watched('1h', 60_000)).to.deep.equal({ kind: 'held out' });
    expect(watched('1h', -1), 'the clock was set back').to.deep.equal({ kind: 'held out' });
  });

  it('is never compared with itself: what an earlier canary knew counts only when it was complete', () => {
    const deployment = held(3, 1);
    const self = { templateHash: computeTemplateHash(deployment), template: toContainerTemplate(deployment) };
    const completed = { revision: 1, templateHash: 'gone', contentHash: 'h', at: canary.startedAt };
    const decide = (contentHash: string, known: CanaryRecord['baseline']) =>
      decideCanary({
        deployment,
        replicas: [seen(0, 'ready', old), seen(3)],
        record: { uid: 'dep_1', completed, canary: { ...canary, contentHash, baseline: known } },
        order: undefined,
        now: settling.now,
      });
    for (const contentHash of ['other', computeContentHash(deployment)]) {
      const decision = decide(contentHash, self);
      expect(decision.kind).to.equal('start');
      expect(decision).to.nested.include({ 'canary.baseline.templateHash': baseline.templateHash });
    }
    expect(decide('other', { ...self, templateHash: 'gone' })).to.nested.include({
      'canary.baseline.templateHash': 'gone',
    });
  });

  describe('of a deployment that is restored', () => {
    const deployment = held(3, 1);
    const completed = { revision: 4, templateHash: baseline.templateHash, contentHash: 'h', at: canary.startedAt };
    const beside = { completed, baseline };
    const order = { uid: 'dep_1', contentHash: computeContentHash(deployment), action: 'resume', beside } as const;
    const given = { ...order, by: 'tok', at: canary.startedAt };
    const decide = (change: Partial<Parameters<typeof decideCanary>[0]> = {}) =>
      decideCanary({ deployment, replicas: [], record: undefined, order: given, now: settling.now, ...change });

    it('begins with what ran beside it', () => {
      expect(decide()).to.deep.equal({
        kind: 'start',
        canary: {
          revision: deployment.metadata.generation,
          contentHash: order.contentHash,
          startedAt: new Date(settling.now).toISOString(),
          baseline,
        },
        completed: beside.completed,
      });
    });

    const { beside: _, ...damaged } = given;
    const discards: readonly (readonly [name: string, change: Parameters<typeof decide>[0]])[] = [
      ['of another deployment of the name', { order: { ...given, uid: 'dep_0' } }],
      ['of another content', { order: { ...given, contentHash: 'other' } }],
      ['that does not ask for a canary any more', { deployment: wanting({ replicas: 3 }) }],
      ['that has begun already', { record: { uid: 'dep_1', completed: beside.completed } }],
      ['whose canary is held', { record: { uid: 'dep_1', canary: { ...canary, contentHash: order.contentHash } } }],
      ['whose order is damaged', { order: damaged }],
    ];
    for (const [name, change] of discards) {
      it(`is not resumed where the order is for one ${name}`, () => {
        expect(decide(change)).to.deep.equal({ kind: 'discard' });
      });
    }
  });

  const input = fc.record({
    wanted: fc.integer({ min: 1, max: 6 }),
    asked: fc.integer({ min: 1, max: 7 }),
    maxSurge: fc.nat(3),
    maxUnavailable: fc.nat(2),
    before: fc.array(fc.constantFrom<ReplicaCase[]>('ready', 'ready', 'exited', 'crash_loop', 'nowhere'), {
      maxLength: 7,
    }),
    canaries: fc.array(fc.constantFrom<ReplicaCase[]>('ready', 'starting', 'nowhere'), { maxLength: 4 }),
    order: fc.infiniteStream(fc.nat(6)),
  });

  it('property: stays within the bounds at every instant, and comes to rest at its size', () => {
    fc.assert(
      fc.property(input, ({ wanted, asked, maxSurge, maxUnavailable, before, canaries, order }) => {
        fc.pre(maxSurge + maxUnavailable > 0);
        const bounds = { ...rollout, maxSurge, maxUnavailable, canary: { replicas: asked } };
        const deployment = wanting({ replicas: wanted, rollout: bounds });
        const { surge, unavailable } = getRolloutBounds(deployment);
        const size = getCanarySize(deployment);
        const start = [
          ...before.map((how, slot) => seen(slot, how, old)),
          ...canaries.map((how, at) => seen(before.length + at, how, deployment)),
        ];
        const replicas = new Map(start.map(each => [each.replica.slot, each]));
        const most = Math.max(replicas.size, wanted + surge);
        const count = (holds: (each: ObservedReplica) => boolean) => [...replicas.values()].filter(holds).length;
        const availableNow = () => count(each => !each.replica.retiringSince && isAvailable(each, settling));
        const formOf = ({ replica }: ObservedReplica) => (isUpToDate(replica, deployment) ? deployment : old);

        let rounds = 0;
        for (; rounds < 400; rounds++) {
          const had = availableNow();
          const decision = decideReplicas(deployment, [...replicas.values()], { ...settling, baseline });
          for (const step of decision.steps) {
            if (step.kind === 'fill') {
              replicas.set(step.slot, seen(step.slot, 'nowhere', step.like ? old : deployment));
            } else if (step.kind === 'clear') replicas.delete(step.seen.replica.slot);
            else replicas.set(step.seen.replica.slot, seen(step.seen.replica.slot, 'retiring', formOf(step.seen)));
          }
          expect(replicas.size, 'replicas at once').to.be.at.most(most);
          if (availableNow() < had) expect(availableNow(), 'available').to.be.at.least(wanted - unavailable);
          const moving = [...replicas.values()].filter(
            each => each.replica.retiringSince || !isAvailable(each, settling),
          );
          if (decision.steps.length === 0 && moving.length === 0) break;
          const next = moving[order.next().value! % Math.max(1, moving.length)];
          if (!next) continue;
          const { slot, retiringSince } = next.replica;
          const how: ReplicaCase = retiringSince ? 'removed' : next.node === 'nowhere' ? 'starting' : 'ready';
          replicas.set(slot, seen(slot, how, formOf(next)));
        }
        expect(rounds, 'rounds').to.be.lessThan(400);
        expect(
          count(({ replica }) => isUpToDate(replica, deployment)),
          'of the new template',
        ).to.equal(size.next);
        expect(
          count(({ replica }) => !isUpToDate(replica, deployment)),
          'of the old one',
        ).to.equal(size.old);
      }),
      { numRuns: 300 },
    );
  });
});
