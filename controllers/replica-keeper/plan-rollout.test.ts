import { expect } from 'chai';
import fc from 'fast-check';

import { getRolloutBounds, type StoredDeployment } from '../../crds/deployment/index.js';
import { computeTemplateHash, isUpToDate, toContainerTemplate } from '../../crds/replica/index.js';
import { isAvailable, type ObservedReplica } from '../reading/index.js';
import { decideReplicas } from './decide.js';
import { type ReplicaCase, old, olds, rollout, seen, settling, steps, wanting } from './replicas.testing.js';

const paused = wanting({ rollout: { ...rollout, paused: true } });
const port = wanting({ replicas: 2, ports: [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }] });
const oldPort = { ...port, image: 'web:1' };
const otherPort = wanting({ replicas: 2, ports: [{ containerPort: 80, hostPort: 443, protocol: 'tcp' }] });
const writer = wanting({
  replicas: 1,
  volumes: [{ volumeId: 'vol_1', type: 'volume', mountPath: '/d', readOnly: false, subPath: '' }],
});

const writing = wanting({ image: 'web:1', replicas: 1, volumes: writer.volumes! });
const canary = { replicas: 3, rollout: { ...rollout, canary: { replicas: 1 } } };
const baseline = { templateHash: computeTemplateHash(writing), template: toContainerTemplate(writing) };
const reading = wanting({ ...canary, volumes: writer.volumes!.map(mount => ({ ...mount, readOnly: true })) });

const cases: readonly (readonly [
  name: string,
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
  steps: readonly string[],
  input?: object,
])[] = [
  [
    'begins beside the old replicas, in a slot beyond the wanted count',
    wanting(),
    olds('ready', 'ready', 'ready'),
    ['fill 3'],
  ],
  [
    'takes none away while the new one starts',
    wanting(),
    [...olds('ready', 'ready', 'ready'), seen(3, 'starting')],
    [],
  ],
  [
    'does not count on one that has just begun to run',
    wanting(),
    [...olds('ready', 'ready', 'ready'), seen(3, 'settling')],
    [],
  ],
  [
    'takes an old one away when the new one is available',
    wanting(),
    [...olds('ready', 'ready', 'ready'), seen(3)],
    ['retire 0'],
  ],
  ['waits for the slot to be empty', wanting(), [...olds('retiring', 'ready', 'ready'), seen(3)], []],
  ['clears and goes on', wanting(), [...olds('removed', 'ready', 'ready'), seen(3)], ['clear 0']],
  ['fills the lowest empty slot', wanting(), [seen(1, 'ready', old), seen(2, 'ready', old), seen(3)], ['fill 0']],
  [
    'begins with the replicas of draining nodes',
    wanting(),
    [...olds('ready', 'draining', 'ready'), seen(3)],
    ['retire 1'],
  ],
  [
    'replaces one that does not serve before one that does',
    wanting(),
    [...olds('ready', 'exited', 'ready'), seen(3)],
    ['retire 1'],
  ],
  ['keeps those that were interrupted until others serve', wanting(), olds('exited', 'exited', 'exited'), ['fill 3']],
  [
    'replaces at once what fails by itself',
    wanting(),
    olds('crash_loop', 'ready', 'crash_loop'),
    ['retire 0', 'retire 2', 'fill 3'],
  ],
  [
    'starts as many as the surge allows',
    wanting({ rollout: { ...rollout, maxSurge: '67%' } }),
    olds('ready', 'ready', 'ready'),
    ['fill 3', 'fill 4', 'fill 5'],
  ],
  [
    'takes away as many as may be unavailable',
    wanting({ rollout: { ...rollout, maxSurge: 0, maxUnavailable: '67%' } }),
    olds('ready', 'ready', 'ready'),
    ['retire 0', 'retire 1'],
  ],
  [
    'moves one at a time when both bounds round to nothing',
    wanting({ rollout: { ...rollout, maxSurge: '0%', maxUnavailable: '20%' } }),
    olds('ready', 'ready', 'ready'),
    ['retire 0'],
  ],
  [
    'scales down and rolls at once',
    wanting({ replicas: 1 }),
    olds('ready', 'ready', 'ready'),
    ['retire 0', 'retire 1'],
  ],
  ['stops first what writes to a volume', writer, [seen(0, 'ready', { ...writer, image: 'web:1' })], ['retire 0']],
  [
    'stops first what has a host port on a named node',
    { ...port, nodeId: 'node_1' },
    [seen(0, 'ready', oldPort), seen(1, 'ready', oldPort)],
    ['retire 0'],
  ],
  ['tries another node for a host port', port, [seen(0, 'ready', oldPort), seen(1, 'ready', oldPort)], ['fill 2']],
  [
    'stops one first when no other node has the host port free',
    port,
    [seen(0, 'ready', oldPort), seen(1, 'ready', oldPort), seen(2, 'nowhere', port)],
    ['retire 0'],
    { refused: 1, crowded: true },
  ],
  [
    'stops nothing for a host port that others hold',
    otherPort,
    [seen(0, 'ready', oldPort), seen(1, 'ready', oldPort), seen(2, 'nowhere', otherPort)],
    [],
    { refused: 1, crowded: true },
  ],
  [
    'stops nothing first when the node lacks more than a free host port',
    port,
    [seen(0, 'ready', oldPort), seen(1, 'ready', oldPort), seen(2, 'nowhere', port)],
    [],
    { refused: 1 },
  ],
  [
    'keeps old replicas that are unhealthy by the same count: they may recover',
    wanting(),
    [...olds('unhealthy', 'unhealthy', 'unhealthy'), seen(3, 'starting')],
    [],
  ],
  [
    'waits for capacity when maxUnavailable forbids to make room',
    wanting(),
    [...olds('ready', 'ready', 'ready'), seen(3, 'nowhere')],
    [],
    { refused: 1 },
  ],
  [
    'starts nothing beside retiring replicas that write to a volume, in whatever slot they are',
    { ...writer, replicas: 1 },
    [seen(1, 'retiring', writer)],
    [],
  ],
  [
    'copies no writer to a volume that the new template has dropped, however many replicas a canary asks for',
    wanting(canary),
    [seen(0, 'ready', writing), seen(1)],
    [],
    { baseline },
  ],
  [
    'copies no writer to a volume that the new template only reads',
    reading,
    [seen(0, 'ready', writing), seen(1, 'ready', reading)],
    [],
    { baseline },
  ],
  [
    'copies no writer beside one that is still being stopped',
    wanting(canary),
    [seen(0, 'retiring', writing), seen(1)],
    [],
    { baseline },
  ],
  ['makes one writer anew when none is left', wanting(canary), [seen(1)], ['copy 0'], { baseline }],
  ['copies no writer while it is paused', paused, [seen(0, 'ready', writing)], []],
  [
    'copies no writer off a draining node while it is paused',
    { ...paused, replicas: 1 },
    [seen(0, 'draining', writing)],
    [],
    { spare: 1 },
  ],
  ['does nothing while it is paused', paused, olds('ready', 'ready', 'ready'), []],
  [
    'keeps the successor of one on a draining node while it is paused, also without surge',
    { ...paused, rollout: { ...paused.rollout!, maxSurge: 0, maxUnavailable: 1 } },
    olds('ready', 'ready', 'draining', 'starting'),
    [],
    { spare: 1 },
  ],
  [
    'replaces a lost replica by one of the same template while it is paused',
    paused,
    [seen(0, 'ready', old), seen(2, 'ready', old)],
    ['copy 1'],
  ],
  ['keeps new and old ones while it is paused', paused, [...olds('ready', 'ready', 'ready'), seen(3)], []],
  [
    'takes nothing that serves away while a dependency is not met',
    wanting(),
    [...olds('ready', 'ready', 'ready'), seen(3)],
    [],
    { held: true },
  ],
  [
    'stops everything at replicas 0, whatever the template',
    wanting({ replicas: 0 }),
    olds('ready', 'ready'),
    ['retire 0', 'retire 1'],
  ],
  [
    'goes back to replicas that are still there',
    old,
    [...olds('ready', 'ready', 'ready'), seen(3, 'starting')],
    ['retire 3'],
  ],
];

describe('a rolling update', () => {
  for (const [name, deployment, replicas, expected, input] of cases) {
    it(name, () => expect(steps(deployment, replicas, input)).to.deep.equal(expected));
  }

  it('replaces nothing when a node is named where every replica is, or none is named any more', () => {
    const named = wanting({ nodeId: 'node_1' });
    expect(steps(named, [seen(0), seen(1), seen(2)])).to.deep.equal([]);
    expect(
      steps(
        wanting(),
        [0, 1, 2].map(slot => seen(slot, 'ready', named)),
      ),
    ).to.deep.equal([]);
    expect(steps(wanting({ nodeId: 'node_2' }), [seen(0), seen(1), seen(2)])).to.deep.equal(['fill 3']);
  });

  const anyShare = fc.oneof(
    fc.nat(3),
    fc.nat(100).map(percent => `${percent}%`),
  );
  const anyRollout = fc
    .record({ maxSurge: anyShare, maxUnavailable: anyShare })
    .filter(
      ({ maxSurge, maxUnavailable }) => Number.parseInt(`${maxSurge}`) + Number.parseInt(`${maxUnavailable}`) > 0,
    );
  const input = fc.record({
    bounds: anyRollout,
    wanted: fc.integer({ min: 1, max: 6 }),
    before: fc.array(fc.constantFrom<ReplicaCase[]>('ready', 'ready', 'ready', 'exited', 'crash_loop', 'nowhere'), {
      maxLength: 7,
    }),
    places: fc.integer({ min: 1, max: 9 }),
    hasPort: fc.boolean(),
    order: fc.infiniteStream(fc.nat(6)),
  });

  it('property: keeps what it must when the new template fits nowhere, for whatever reason but its own replicas', () => {
    fc.assert(
      fc.property(input, ({ bounds, wanted, hasPort }) => {
        const shape = { replicas: wanted, rollout: { ...rollout, ...bounds }, ...(hasPort && { ports: port.ports! }) };
        const deployment = wanting(shape);
        const earlier = wanting({ ...shape, image: 'web:1' });
        const replicas = new Map(
          Array.from({ length: wanted }, (_, slot) => [slot, seen(slot, 'ready', earlier)] as const),
        );
        for (let round = 0; round < 40; round++) {
          const refused = [...replicas.values()].filter(({ node }) => node === 'nowhere').length;
          const { steps: taken } = decideReplicas(deployment, [...replicas.values()], { ...settling, refused });
          for (const step of taken) {
            if (step.kind === 'fill') replicas.set(step.slot, seen(step.slot, 'nowhere', deployment));
            else replicas.delete(step.seen.replica.slot); // its container is gone at once
          }
        }
        const available = [...replicas.values()].filter(each => isAvailable(each, settling)).length;
        expect(available).to.be.at.least(wanted - getRolloutBounds(deployment).unavailable);
      }),
    );
  });

  it('property: stays within its bounds at every instant, and comes to its end', () => {
    fc.assert(
      fc.property(input, ({ bounds, wanted, before, places, hasPort, order }) => {
        const shape = { replicas: wanted, rollout: { ...rollout, ...bounds }, ...(hasPort && { ports: port.ports! }) };
        const deployment = wanting(shape);
        const { surge, unavailable } = getRolloutBounds(deployment);
        // A host port has one place a node; what has none may be anywhere.
        const capacity = hasPort ? places : wanted + surge + 7;
        const earlier = wanting({ ...shape, image: 'web:1' });
        const replicas = new Map(before.slice(0, capacity).map((how, slot) => [slot, seen(slot, how, earlier)]));
        const most = Math.max(replicas.size, wanted + surge);
        const count = (holds: (each: ObservedReplica) => boolean) => [...replicas.values()].filter(holds).length;
        const availableNow = () => count(each => !each.replica.retiringSince && isAvailable(each, settling));

        let rounds = 0;
        for (; rounds < 400; rounds++) {
          const waiting = count(({ node }) => node === 'nowhere');
          const placed = replicas.size - waiting;
          const refused = Math.max(0, waiting - Math.max(0, capacity - placed));
          const decision = decideReplicas(deployment, [...replicas.values()], {
            ...settling,
            refused,
            crowded: hasPort,
          });
          const had = availableNow();
          for (const step of decision.steps) {
            if (step.kind === 'fill') replicas.set(step.slot, seen(step.slot, 'nowhere', deployment));
            else if (step.kind === 'clear') replicas.delete(step.seen.replica.slot);
            else {
              const { slot } = step.seen.replica;
              const isOld = !isUpToDate(step.seen.replica, deployment);
              replicas.set(slot, seen(slot, 'retiring', isOld ? earlier : deployment));
            }
          }
          expect(replicas.size, 'replicas at once').to.be.at.most(most);
          const taken = had - availableNow();
          const mayMiss = hasPort && refused > 0 ? Math.max(1, unavailable) : unavailable;
          const floor = Math.min(wanted, hasPort ? capacity : wanted) - mayMiss;
          if (taken > 0) expect(availableNow(), 'available').to.be.at.least(floor);

          const moving = [...replicas.values()].filter(
            each =>
              each.replica.retiringSince || (isUpToDate(each.replica, deployment) && !isAvailable(each, settling)),
          );
          const placeable = moving.filter(({ node }) => node !== 'nowhere' || placed < capacity);
          if (decision.steps.length === 0 && placeable.length === 0) break;
          const next = placeable[order.next().value! % Math.max(1, placeable.length)];
          if (!next) continue;
          const { slot } = next.replica;
          const of = isUpToDate(next.replica, deployment) ? deployment : earlier;
          if (next.replica.retiringSince) replicas.set(slot, seen(slot, 'removed', of));
          else replicas.set(slot, seen(slot, next.node === 'nowhere' ? 'starting' : 'ready', of));
        }
        expect(rounds, 'rounds').to.be.lessThan(400);
        const possible = Math.min(wanted, capacity);
        const present = count(each => isUpToDate(each.replica, deployment) && isAvailable(each, settling));
        expect(present, 'up to date and available').to.equal(possible);
        expect(
          count(({ replica }) => !isUpToDate(replica, deployment)),
          'old ones left',
        ).to.equal(0);
      }),
      { numRuns: 300 },
    );
  });
});
