import { expect } from 'chai';

import type { RotationProgress, RotationRecord } from '../../crds/rotation/index.js';
import type { SecretIntent } from '../../pkg/material/index.js';
import { computeRemainingMs, isContested, listClaimed, type RotationWithProgress } from './decide.js';

const AT = '2030-01-01T00:00:00.000Z';
const PATH = 'deployments/web-db';

const intent = (state: SecretIntent['state'], version: number): SecretIntent => ({
  state,
  tenant: 't1',
  subject: 'web',
  operation: 'op_1',
  at: AT,
  writes: [{ path: PATH, version }],
});

const rotation = (
  progress?: Partial<RotationProgress>,
  phase: RotationRecord['phase'] = 'stage',
): RotationWithProgress => ({
  record: {
    id: 'rot_1',
    path: PATH,
    from: 1,
    to: 2,
    material: { by: 'platform' },
    deployment: 'web',
    by: 'me',
    phase,
    askedAt: AT,
  },
  progress: progress && {
    id: 'rot_1',
    phase,
    holds: true,
    staged: true,
    raised: {},
    returned: {},
    at: AT,
    ...progress,
  },
});

describe('janitor decision', () => {
  it('waits a minute before it finishes an intent', () => {
    const begun = Date.parse(AT);
    expect(computeRemainingMs(intent('writing', 2), begun)).to.equal(60_000);
    expect(computeRemainingMs(intent('writing', 2), begun + 45_000)).to.equal(15_000);
    expect(computeRemainingMs(intent('writing', 2), begun + 60_000)).to.equal(0);
  });

  it('waits for other requests that were promised the same version and may still be running', () => {
    const doomed = intent('undoing', 2);
    for (const [other, expected] of [
      [intent('writing', 2), true],
      [intent('writing', 3), false],
      [intent('stored', 2), false],
      [intent('undoing', 2), false],
    ] as const)
      expect(isContested(doomed, [other]), `${other.state} ${other.writes[0]!.version}`).to.equal(expected);
  });

  const claimed = [{ path: PATH, version: 2 }];
  const cases: readonly [string, readonly SecretIntent[], readonly RotationWithProgress[], readonly unknown[]][] = [
    ['nothing without other intents and rotations', [], [], []],
    ['the versions of a stored intent', [intent('stored', 2)], [], claimed],
    ['no version of an intent that is being written', [intent('writing', 2)], [], []],
    ['no version of an intent that is being undone', [intent('undoing', 2)], [], []],
    ['the version that an open rotation has staged', [], [rotation({})], claimed],
    ['no version of a rotation that has not staged one', [], [rotation({ staged: false })], []],
    ['no version of a rotation without progress', [], [rotation()], []],
    ['no version by the progress of an earlier rotation', [], [rotation({ id: 'rot_0' })], []],
    ['no version of a rotation that has ended', [], [rotation({}, 'retire')], []],
  ];
  for (const [name, others, rotations, expected] of cases) {
    it(`keeps ${name}`, () => {
      expect(listClaimed(others, rotations)).to.deep.equal(expected);
    });
  }
});
