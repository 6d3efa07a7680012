import fc from 'fast-check';
import { expect } from 'chai';

import { getCanarySize, getRolloutBounds } from '../../crds/deployment/index.js';
import { computeTemplateHash, isUpToDate, toContainerTemplate } from '../../crds/replica/index.js';
import { isAvailable, type ObservedReplica } from '../reading/index.js';
import { chooseLeaver, decideReplicas } from './decide.js';
import { isLeaving } from './plan-rollout.js';
import { type ReplicaCase, old, rollout, seen, settling, wanting } from './replicas.testing.js';

const baseline = { templateHash: computeTemplateHash(old), template: toContainerTemplate(old) };
/** Longer than any of them needs. */
const ROUNDS = 300;

const replica = (...hows: readonly ReplicaCase[]) =>
  fc.record({ how: fc.constantFrom(...hows), isDraining: fc.boolean() });
const given = (...hows: readonly ReplicaCase[]) =>
  fc.record({
    isCanary: fc.boolean(),
    isPaused: fc.boolean(),
    wanted: fc.integer({ min: 1, max: 5 }),
    canary: fc.integer({ min: 1, max: 5 }),
    maxSurge: fc.nat(3),
    maxUnavailable: fc.nat(2),
    olds: fc.array(replica(...hows), { minLength: 1, maxLength: 6 }),
    news: fc.array(replica('ready', 'starting', 'nowhere'), { maxLength: 4 }),
    /** What the nodes that are not drained would take beyond what they have. */
    free: fc.constantFrom(0, 1, 2, 99),
    order: fc.infiniteStream(fc.nat(6)),
  });
type Given = ReturnType<typeof given> extends fc.Arbitrary<infer T> ? T : never;

/** Plays it until nothing is left to do; answers what is there then. Throws when it goes on for ever, or beyond a bound. */
function play({ isCanary, isPaused, wanted, canary, maxSurge, maxUnavailable, olds, news, free, order }: Given) {
  fc.pre((isCanary || isPaused) && maxSurge + maxUnavailable > 0);
  const held = { ...(isCanary && { canary: { replicas: canary } }), ...(isPaused && { paused: true }) };
  const deployment = wanting({ replicas: wanted, rollout: { ...rollout, maxSurge, maxUnavailable, ...held } });
  const { surge, unavailable } = getRolloutBounds(deployment);
  const size = getCanarySize(deployment);
  const replicas = new Map<number, ObservedReplica>();
  const put = (slot: number, how: ReplicaCase, of: typeof deployment, draining = false) =>
    replicas.set(slot, { ...seen(slot, how, of), ...(draining && how !== 'nowhere' && { draining }) });
  const formOf = (each: ObservedReplica) => (isUpToDate(each.replica, deployment) ? deployment : old);
  olds.forEach(({ how, isDraining }, slot) => put(slot, how, old, isDraining));
  news.forEach(({ how, isDraining }, at) => put(olds.length + at, how, deployment, isDraining));

  const list = () => [...replicas.values()].sort((a, b) => a.replica.slot - b.replica.slot);
  const elsewhere = () => list().filter(({ node, draining }) => node === 'well' && !draining).length;
  const waiting = () => list().filter(({ node }) => node === 'nowhere');
  const available = () => list().filter(each => !each.replica.retiringSince && isAvailable(each, settling)).length;
  const room = elsewhere() + free;
  const most = Math.max(replicas.size, Math.max(wanted, size.next + size.old) + Math.max(1, surge));

  for (let round = 0; round < ROUNDS; round++) {
    const leaver = chooseLeaver(list().filter(each => isLeaving(each) && !each.replica.retiringSince));
    const like = leaver ? waiting().filter(each => formOf(each) === formOf(leaver)).length : 0;
    const taken = Math.max(0, room - elsewhere() - (waiting().length - like));
    const spare = leaver ? Math.min(taken, like + 1) - like : 0;
    const refused = Math.max(0, waiting().length - (room - elsewhere()));
    const before = available();
    const input = { ...settling, refused, spare, completed: baseline.templateHash, ...(isCanary && { baseline }) };
    const { steps } = decideReplicas(deployment, list(), input);
    for (const step of steps) {
      if (step.kind === 'fill') put(step.slot, 'nowhere', step.like?.template.image === old.image ? old : deployment);
      else if (step.kind === 'clear') replicas.delete(step.seen.replica.slot);
      else put(step.seen.replica.slot, 'retiring', formOf(step.seen), step.seen.draining);
    }
    expect(replicas.size, 'replicas at once').to.be.at.most(most);
    if (available() < before) expect(available(), 'available').to.be.at.least(wanted - unavailable);

    const isMoving = (each: ObservedReplica) => {
      if (each.replica.retiringSince) return each.report?.state !== 'removed';
      if (each.node === 'nowhere') return room > elsewhere();
      return !isAvailable(each, settling) && each.report?.reason !== 'crash_loop';
    };
    const moving = list().filter(isMoving);
    if (steps.length === 0 && moving.length === 0) return { left: list(), deployment, size };
    const next = moving[order.next().value! % Math.max(1, moving.length)];
    if (!next) continue;
    const how = next.replica.retiringSince ? 'removed' : next.node === 'nowhere' ? 'starting' : 'ready';
    put(next.replica.slot, how, formOf(next), next.draining);
  }
  throw new Error(`goes on for ever: ${JSON.stringify(list().map(({ replica: { slot }, node }) => ({ slot, node })))}`);
}

describe('a drain while a rollout is held', () => {
  it('property: stays within the bounds and comes to rest, whatever fails and however little room there is', () => {
    fc.assert(
      fc.property(given('ready', 'exited', 'nowhere', 'crash_loop'), input => void play(input)),
      { numRuns: 300 },
    );
  });

  it('property: leaves every drained node where there is room, with as many of each template as there are to be', () => {
    fc.assert(
      fc.property(given('ready', 'exited', 'nowhere'), input => {
        const { left, deployment, size } = play({ ...input, free: 99 });
        expect(left.filter(({ draining }) => draining)).to.deep.equal([]);
        if (input.isPaused) return;
        const news = left.filter(each => isUpToDate(each.replica, deployment)).length;
        expect({ next: news, old: left.length - news }).to.deep.equal({ next: size.next, old: size.old });
      }),
      { numRuns: 300 },
    );
  });
});
