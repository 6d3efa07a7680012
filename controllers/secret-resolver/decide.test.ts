import { expect } from 'chai';

import type { UnresolvedRecord } from '../../crds/delivery/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { needsResolving, type ObservedReplica } from '../reading/index.js';
import { decideUnresolvedUpdate, computeRetryMs, needsStamp } from './decide.js';

const AT = '2030-01-01T00:00:00.000Z';
const NOW = Date.parse(AT);
const resolved = { versions: { 'deployments/web-db': 1 }, at: AT };

const seen = (replica: Partial<Replica> = {}, report?: Partial<Report>): ObservedReplica =>
  ({
    replica: {
      uid: 'rep_1',
      nodeId: 'node_1',
      template: { image: 'web:1', secretsVersion: 0, secrets: [{ name: 'DB', vault_path: 'deployments/web-db' }] },
      ...replica,
    },
    revision: 1,
    report,
    node: 'well',
  }) as unknown as ObservedReplica;

describe('the secret resolver', () => {
  const replicas: readonly [name: string, given: ObservedReplica, due: boolean][] = [
    ['a placed one', seen(), true],
    ['one without a node', seen({ nodeId: undefined } as unknown as Partial<Replica>), false],
    ['one that retires', seen({ retiringSince: AT }), false],
    ['one that refers to nothing', seen({ template: { image: 'web:1', secretsVersion: 0 } }), false],
    ['one that is stamped', seen({ resolved }), false],
    ['one whose agent runs it', seen({ resolved }, { state: 'running', containerId: 'c' }), false],
    ['one whose agent got nothing', seen({ resolved }, { state: 'failed', reason: 'secrets_unresolved' }), true],
    [
      'one whose agent met an outage',
      seen({ resolved }, { state: 'failed', reason: 'secret_store_unavailable' }),
      true,
    ],
    ['one whose image is missing', seen({ resolved }, { state: 'failed', reason: 'image_pull_failed' }), false],
  ];
  for (const [name, given, due] of replicas) {
    it(`${due ? 'looks after' : 'leaves alone'} ${name}`, () => expect(needsResolving(given)).to.equal(due));
  }

  const stamps: readonly [name: string, given: ObservedReplica, now: number, due: boolean][] = [
    ['what has no stamp', seen(), NOW, true],
    ['what has another version', seen({ resolved: { ...resolved, versions: { 'deployments/web-db': 7 } } }), NOW, true],
    ['what was stamped a moment ago', seen({ resolved }), NOW + 100, false],
    ['what its agent could not use for a while', seen({ resolved }), NOW + 5_000, true],
  ];
  for (const [name, given, now, due] of stamps) {
    it(`${due ? 'stamps' : 'does not stamp'} ${name}`, () => {
      expect(needsStamp(given, resolved.versions, now)).to.equal(due);
    });
  }

  const standing: UnresolvedRecord = {
    uid: 'dep_1',
    reason: 'secret_missing',
    message: 'not in the secrets store: deployments/web-db',
    replicas: 2,
    since: AT,
    lastSeenAt: AT,
    event: 'evt_1',
  };
  const sayings: readonly [
    name: string,
    before: UnresolvedRecord | undefined,
    change: Partial<UnresolvedRecord>,
    now: number,
    saying: string,
  ][] = [
    ['a first cause', undefined, {}, NOW, 'new'],
    ['another cause', standing, { reason: 'secret_forbidden' }, NOW, 'new'],
    [
      'the same cause for another path',
      standing,
      { message: 'not in the secrets store: deployments/other' },
      NOW,
      'new',
    ],
    ['the same cause', standing, {}, NOW + 1_000, 'nothing'],
    ['the same cause after a minute', standing, {}, NOW + 60_000, 'again'],
    ['the same cause with more replicas', standing, { replicas: 3 }, NOW, 'again'],
    ['a record from the future', { ...standing, lastSeenAt: '2031-01-01T00:00:00.000Z' }, {}, NOW, 'again'],
  ];
  for (const [name, before, change, now, saying] of sayings) {
    it(`says ${saying} of ${name}`, () => {
      const words = { reason: standing.reason, message: standing.message, replicas: standing.replicas, ...change };
      expect(decideUnresolvedUpdate(words, before, now)).to.equal(saying);
    });
  }

  it('looks again soon, and never later than after five seconds', () => {
    expect([0, 2_000, 8_000, 3_600_000].map(ms => computeRetryMs(AT, NOW + ms))).to.deep.equal([
      1_000, 2_000, 5_000, 5_000,
    ]);
    expect(computeRetryMs(AT, NOW - 9_000_000)).to.equal(1_000);
  });
});
