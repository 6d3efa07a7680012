import { expect } from 'chai';
import fc from 'fast-check';

import type { StoredEvent } from '../../crds/event/index.js';
import { sampleRuns } from '../../dev/testing/index.js';
import { act, jobSpecs, NAMES, rolls, specs } from './acts.js';
import { findContradictions, type DeploymentSurfaces } from './contradictions.js';
import { findJobContradictions, type JobSurfaces } from './job-contradictions.js';
import { AgreementCluster } from './agreement-cluster.js';

/** How often what was reached. */
class Tally {
  readonly #counts = new Map<string, number>();

  count({ deployment: { status, metadata }, events }: DeploymentSurfaces): void {
    const newest = events.at(-1)?.type;
    this.#add(metadata.deletedAt === undefined ? status.phase : 'Deleting');
    if (status.canary) this.#add('canary');
    if (status.refusedBy?.includes('quota')) this.#add('quota');
    if (newest === 'deployment.rolled_back' || newest === 'deployment.rollout_failed') this.#add(newest);
    for (const type of new Set(events.map(each => each.type))) if (/roll|canary/.test(type)) this.#add(`ever ${type}`);
  }

  countJob({ job: { status, metadata } }: JobSurfaces): void {
    this.#add(`job ${metadata.deletedAt === undefined ? status.phase : 'Deleting'}`);
  }

  toString(): string {
    const counts = [...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return counts.map(([what, count]) => `${what} ${count}`).join(', ');
  }

  #add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}

function expectAgreement(contradictions: readonly string[], told: DeploymentSurfaces | JobSurfaces): void {
  expect(contradictions, `${contradictions.join('; ')} in ${JSON.stringify(told, undefined, 1)}`).to.deep.equal([]);
}

const tally = new Tally();
/** More worlds than a test run has time for: `MOORING_WORLDS=150`. */
const WORLDS = Number(process.env['MOORING_WORLDS'] ?? sampleRuns(4, 16));

describe('status, describe, explain and the newest event', () => {
  after(() => process.stdout.write(`\n    reached: ${tally.toString()}\n`));

  it('[3.10] property: never contradict each other, whatever has happened', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 5 }),
        async rounds => {
          const agreement = await new AgreementCluster().start();
          try {
            await agreement.perform({ kind: 'enrol', node: 0 });
            for (const acts of rounds) {
              for (const each of acts) {
                await agreement.perform(each);
                await agreement.cluster.clock.pass(500);
              }
              // Long enough for every loop, for an event that waits for the last one to be a minute old, and for a stop that hangs.
              await agreement.cluster.clock.pass(150_000);
              for (const deployment of NAMES) {
                const told = await agreement.readSurfaces(deployment);
                if (!told) continue;
                tally.count(told);
                expectAgreement(findContradictions(told), told);
              }
              const told = await agreement.readJobSurfaces();
              if (!told) continue;
              tally.countJob(told);
              expectAgreement(findJobContradictions(told), told);
            }
          } finally {
            await agreement.close();
          }
        },
      ),
      { numRuns: WORLDS, endOnFailure: true },
    );
  });

  it('are caught when one of them contradicts the others', async () => {
    const agreement = await new AgreementCluster().start();
    await agreement.perform({ kind: 'enrol', node: 0 });
    await agreement.perform({ kind: 'enrol', node: 1 });
    await agreement.perform({ kind: 'put', name: 'web', choice: 1 });
    await agreement.cluster.clock.pass(5_000);
    const told = (await agreement.readSurfaces('web'))!;
    await agreement.close();
    expect(told.deployment.status.phase).to.equal('Unschedulable');
    expect(findContradictions(told)).to.deep.equal([]);

    const { deployment, explanation, events, printed } = told;
    const lastEvent = { ...events.at(-1)!, type: 'deployment.running', reason: 'running' };
    const planted: readonly (readonly [Partial<DeploymentSurfaces>, RegExp])[] = [
      [{ revision: '1' }, /everything else of 1/],
      [
        { deployment: { ...deployment, status: { ...deployment.status, refusedBy: ['port'] } } },
        /refused by port, the nodes refuse by anti_affinity/,
      ],
      [{ explanation: { ...explanation, phase: 'Running' } }, /the explanation says Running/],
      [{ explanation: { ...explanation, able: 1 } }, /1 nodes take it/],
      [{ explanation: { ...explanation, unplaced: 0 } }, /the explanation 0/],
      [
        { explanation: { ...explanation, summary: '0 of 2 nodes: 2 anti_affinity, 1 not ready' } },
        /does not add up to 2/,
      ],
      [
        { explanation: { ...explanation, steps: explanation.steps.map(step => ({ ...step, state: 'done' })) } },
        /waits at no step/,
      ],
      [{ events: [...events, lastEvent] }, /its newest event is deployment\.running/],
      [{ events: [...events, { ...lastEvent, reason: 'no_such_reason' }] }, /knows nothing/],
      [{ printed: { ...printed, describe: 'Phase: Running' } }, /describe does not print/],
      [
        { deployment: { ...deployment, status: { ...deployment.status, phase: 'Running' } } },
        /it is Running, and waits at placed/,
      ],
    ];
    for (const [change, words] of planted) {
      expect(findContradictions({ ...told, ...change }).join('\n')).to.match(words);
    }
  });

  it('are caught when a rollout that has failed, or was rolled back, is told of a deployment that runs or has failed', async () => {
    const agreement = await new AgreementCluster().start();
    await agreement.perform({ kind: 'enrol', node: 0 });
    agreement.cluster.agentsWork = false;
    await agreement.perform({ kind: 'put', name: 'web', choice: specs.findIndex(({ image }) => image === 'web:2') });
    await agreement.cluster.clock.pass(70_000);
    const failed = (await agreement.readSurfaces('web'))!;
    agreement.cluster.agentsWork = true;
    await agreement.perform({ kind: 'report', name: 'web', choice: 0 });
    await agreement.cluster.clock.pass(70_000);
    const running = (await agreement.readSurfaces('web'))!;
    await agreement.close();
    expect([failed.deployment.status.phase, running.deployment.status.phase]).to.deep.equal(['Failed', 'Running']);
    for (const told of [failed, running]) expect(findContradictions(told)).to.deep.equal([]);

    const last = failed.events.at(-1)!;
    expect(last.type).to.equal('deployment.rollout_failed');
    const rolledBack: StoredEvent = { ...last, type: 'deployment.rolled_back', reason: 'rolled_back' };
    for (const [told, event, words] of [
      [running, last, 'it is Running, and its newest event is deployment.rollout_failed'],
      [failed, rolledBack, 'it is Failed, and its newest event is deployment.rolled_back'],
    ] as const) {
      expect(findContradictions({ ...told, events: [...told.events, event] }).join('\n')).to.include(words);
    }
  });

  for (const [choice, [, { image, rollout }]] of rolls.entries()) {
    it(`agree on a rollout to ${image} with ${JSON.stringify(rollout)} (${choice})`, async () => {
      const agreement = await new AgreementCluster().start();
      for (const node of [0, 1, 2]) await agreement.perform({ kind: 'enrol', node });
      await agreement.perform({ kind: 'roll', name: 'web', choice });
      for (const ms of [20_000, 150_000]) {
        await agreement.cluster.clock.pass(ms);
        const told = (await agreement.readSurfaces('web'))!;
        tally.count(told);
        expectAgreement(findContradictions(told), told);
      }
      await agreement.close();
    });
  }

  it('are caught when they contradict each other about a canary or about a job', async () => {
    const agreement = await new AgreementCluster().start();
    for (const node of [0, 1, 2]) await agreement.perform({ kind: 'enrol', node });
    const choice = rolls.findIndex(
      ([, after]) => after.rollout?.canary && !after.rollout.canary.hold && !after.image?.startsWith('bad'),
    );
    await agreement.perform({ kind: 'roll', name: 'web', choice });
    await agreement.perform({ kind: 'job', choice: 0 });
    await agreement.cluster.clock.pass(30_000);
    const told = (await agreement.readSurfaces('web'))!;
    const job = (await agreement.readJobSurfaces())!;
    await agreement.close();
    expect(told.deployment.status.canary).to.not.equal(undefined);
    expect(findContradictions(told)).to.deep.equal([]);
    expect(job.job.status.phase).to.equal('Running');
    expect(findJobContradictions(job)).to.deep.equal([]);

    const ended = { ...told.events.at(-1)!, type: 'deployment.canary_aborted' } as StoredEvent;
    expect(findContradictions({ ...told, events: [...told.events, ended] }).join()).to.include('it has a canary, and');
    const failed = { ...job.events.at(-1)!, type: 'job.failed' } as StoredEvent;
    const status = { ...job.job.status, phase: 'Succeeded' as const };
    for (const [change, words] of [
      [{ events: [...job.events, failed] }, 'its newest event is job.failed'],
      [{ job: { ...job.job, status } }, 'it has succeeded, its last attempt is Running'],
      [{ explanation: { ...job.explanation, message: 'all is well' } }, 'the explanation "all is well"'],
      [{ printed: { ...job.printed, describe: '' } }, 'describe does not print Running'],
    ] as const) {
      expect(findJobContradictions({ ...job, ...change }).join()).to.include(words);
    }
  });

  it('describe of a job that no node takes names each reason, who is in the way, and what to do', async () => {
    const agreement = await new AgreementCluster().start();
    await agreement.perform({ kind: 'enrol', node: 0 });
    await agreement.perform({ kind: 'put', name: 'web', choice: specs.findIndex(({ resources }) => resources?.cpu) });
    await agreement.cluster.clock.pass(5_000);
    await agreement.perform({ kind: 'job', choice: jobSpecs.findIndex(({ resources }) => resources?.cpu) });
    await agreement.cluster.clock.pass(5_000);
    const told = (await agreement.readJobSurfaces())!;
    await agreement.close();
    expect(findJobContradictions(told)).to.deep.equal([]);
    expect(told.printed.describe)
      .to.match(
        /n0 +resources +requires 700m cpu, the node has 300m cpu free; in the way: replica 0 of web \(700m cpu\)/,
      )
      .and.match(/resources: what to do: Lower resources.*"moor explain job batch"/)
      .and.not.include('deployment batch');
  });
});
