import { expect } from 'chai';
import fc from 'fast-check';

import type { ScalingPolicy, ScalingRecord, StoredDeployment } from '../../crds/deployment/index.js';
import { decideScaling, type ScaledReplica, type ScalingInput } from './decide.js';

const AT = '2030-01-01T00:00:00.000Z';
const NOW = Date.parse(AT);
const metadata = { tenant: 't1', uid: 'dep_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: 'h' };

const web = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata,
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 2,
  secretsVersion: 0,
  resources: { cpu: '100m', memory: '100Mi' },
  ...change,
});
const record = (change: Partial<ScalingRecord> = {}): ScalingRecord => ({
  uid: 'dep_1',
  base: 2,
  replicas: 2,
  reason: 'scaling_steady',
  message: '',
  at: AT,
  ...change,
});

/** Replicas by the percentage of their cpu request; `?`: ready without figures, `-`: not ready. */
const using = (...percentages: readonly (number | '?' | '-')[]): readonly ScaledReplica[] =>
  percentages.map(percent =>
    typeof percent === 'number'
      ? { isReady: true, usage: { cpu: percent, memory: percent * 2 ** 20 } }
      : { isReady: percent === '?' },
  );

interface Given extends Partial<Omit<ScalingInput, 'policy'>> {
  readonly policy?: Partial<ScalingPolicy>;
}

const decide = ({ policy = {}, ...given }: Given = {}) =>
  decideScaling({
    deployment: web(),
    policy: { metadata, minReplicas: 1, maxReplicas: 10, targetCpuPercent: 50, stabilization: '0s', ...policy },
    record: record(),
    replicas: using(50, 50),
    isRolling: false,
    window: [],
    now: NOW,
    ...given,
  });

/** The targets of rows that are about memory only. */
const byMemory = { targetCpuPercent: undefined, targetMemoryPercent: 50 } as unknown as Partial<ScalingPolicy>;
const long = [{ at: NOW - 100_000, replicas: 1 }];

const rows: readonly (readonly [name: string, given: Given, replicas: number, reason: string])[] = [
  ['what is aimed at', {}, 2, 'scaling_steady'],
  ['a tenth above', { replicas: using(55, 55) }, 2, 'scaling_steady'],
  ['a tenth below', { replicas: using(45, 45) }, 2, 'scaling_steady'],
  ['more than a tenth above', { replicas: using(56, 56) }, 3, 'scaled_up'],
  ['more than a tenth below, but not by a whole replica', { replicas: using(40, 40) }, 2, 'scaling_steady'],
  ['half of the target', { replicas: using(25, 25) }, 1, 'scaled_down'],
  ['nothing at all', { replicas: using(0, 0) }, 1, 'scaled_down'],
  ['three times the target', { replicas: using(150, 150) }, 6, 'scaled_up'],
  [
    'exactly 1.2 times of five',
    { deployment: web({ replicas: 5 }), record: record({ base: 5, replicas: 5 }), replicas: using(60, 60, 60, 60, 60) },
    6,
    'scaled_up',
  ],
  ['no more than four more, or twice as many, in a step', { replicas: using(900, 900) }, 6, 'scaled_up'],
  ['the maximum', { replicas: using(300, 300), policy: { maxReplicas: 4 } }, 4, 'scaled_up'],
  ['more than the maximum', { replicas: using(300, 300), policy: { maxReplicas: 2 } }, 2, 'scaling_at_maximum'],
  ['less than the minimum', { replicas: using(1, 1), policy: { minReplicas: 2 } }, 2, 'scaling_at_minimum'],
  ['memory, where that is the target', { replicas: using(100, 100), policy: byMemory }, 4, 'scaled_up'],
  ['the larger of two targets', { replicas: using(50, 50), policy: { targetMemoryPercent: 25 } }, 4, 'scaled_up'],

  ['one without figures, and too much: idle', { replicas: using(100, '?') }, 2, 'scaling_steady'],
  ['one without figures, and far too much', { replicas: using(200, '?') }, 4, 'scaled_up'],
  ['one without figures, and too little: as aimed at', { replicas: using(0, '?') }, 1, 'scaled_down'],
  ['one without figures, and a little too little', { replicas: using(40, '?') }, 2, 'scaling_steady'],
  ['one that is not ready, and too much: idle', { replicas: using(100, '-') }, 2, 'scaling_steady'],
  ['one that is not ready, and too little: set aside', { replicas: using(25, '-') }, 1, 'scaled_down'],
  ['no figures', { replicas: using('?', '-') }, 2, 'scaling_no_figures'],
  ['no replicas', { replicas: [] }, 2, 'scaling_no_figures'],

  [
    'a step a moment ago',
    { replicas: using(150, 150), record: record({ scaledAt: new Date(NOW - 14_999).toISOString() }) },
    2,
    'scaling_rests',
  ],
  [
    'a step before that',
    { replicas: using(150, 150), record: record({ scaledAt: new Date(NOW - 15_000).toISOString() }) },
    6,
    'scaled_up',
  ],
  [
    'a step in the future, of a clock that was ahead',
    { replicas: using(150, 150), record: record({ scaledAt: '2031-01-01T00:00:00.000Z' }) },
    6,
    'scaled_up',
  ],

  [
    'less, with nothing remembered',
    { replicas: using(0, 0), policy: { stabilization: '60s' } },
    2,
    'scaling_stabilizing',
  ],
  [
    'less, and more a while ago',
    { replicas: using(0, 0), policy: { stabilization: '60s' }, window: [{ at: NOW - 59_999, replicas: 2 }] },
    2,
    'scaling_stabilizing',
  ],
  [
    'less, and more before that',
    { replicas: using(0, 0), policy: { stabilization: '60s' }, window: [{ at: NOW - 60_000, replicas: 2 }] },
    1,
    'scaled_down',
  ],
  [
    'more, whatever was before',
    { replicas: using(150, 150), policy: { stabilization: '60s' }, window: long },
    6,
    'scaled_up',
  ],

  ['a rollout', { replicas: using(150, 150), isRolling: true }, 2, 'scaling_rollout'],
  [
    'a paused rollout',
    {
      deployment: web({
        rollout: { maxSurge: 1, maxUnavailable: 0, progressDeadline: '10m', autoRollback: true, paused: true },
      }),
      replicas: using(150, 150),
    },
    2,
    'scaling_paused',
  ],
  ['a stopped deployment', { deployment: web({ replicas: 0 }), replicas: [] }, 0, 'scaling_stopped'],
  [
    'no request',
    { deployment: web({ resources: { memory: '100Mi' } }), replicas: using(150) },
    2,
    'scaling_no_request',
  ],

  [
    'another number in the spec',
    { deployment: web({ replicas: 5 }), record: record({ replicas: 9 }) },
    5,
    'scaling_base',
  ],
  ['another number in the spec, above the maximum', { deployment: web({ replicas: 50 }) }, 10, 'scaling_base'],
  [
    'a policy that does not allow what there is',
    { record: record({ replicas: 8 }), policy: { maxReplicas: 3 } },
    3,
    'scaling_bounds',
  ],
  [
    'a first look at a spec outside of the bounds',
    { record: undefined, policy: { minReplicas: 4 } },
    4,
    'scaling_bounds',
  ],
];

describe('the number of replicas by a scaling policy', () => {
  for (const [name, given, replicas, reason] of rows) {
    it(`${name}: ${replicas}, ${reason}`, () => {
      const decision = decide(given);
      expect([decision.replicas, decision.reason]).to.deep.equal([replicas, reason]);
    });
  }

  it('says on which figures it was decided', () => {
    const { figures, message } = decide({ replicas: using(150, 90), policy: { targetMemoryPercent: 100 } });
    expect(figures).to.deep.equal({ cpuPercent: 120, memoryPercent: 120 });
    expect(message).to.equal('cpu 120 % of 50 %, memory 120 % of 100 %; 2 → 5 replicas');
  });

  it('remembers what it recommends for the stabilization time', () => {
    const first = decide({ replicas: using(0, 0), policy: { stabilization: '30s' } });
    expect(first.window.map(each => each.replicas)).to.deep.equal([2, 1]);
    const second = decide({
      replicas: using(0, 0),
      policy: { stabilization: '30s' },
      window: first.window,
      now: NOW + 29_999,
    });
    expect(second.reason).to.equal('scaling_stabilizing');
    const third = decide({
      replicas: using(0, 0),
      policy: { stabilization: '30s' },
      window: first.window,
      now: NOW + 30_000,
    });
    expect([third.replicas, third.reason]).to.deep.equal([1, 'scaled_down']);
  });

  it('is within the bounds, whatever is used', () => {
    const figure = fc.oneof(fc.nat(2000), fc.constantFrom('?' as const, '-' as const));
    fc.assert(
      fc.property(
        fc.array(figure, { maxLength: 12 }),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(8),
        (used, min, more) => {
          const current = Math.min(min + more, Math.max(min, used.length));
          const { replicas } = decide({
            deployment: web({ replicas: current }),
            record: record({ base: current, replicas: current }),
            replicas: using(...used),
            policy: { minReplicas: min, maxReplicas: min + more },
          });
          expect(replicas).to.be.within(min, min + more);
        },
      ),
    );
  });
});
