import { expect } from 'chai';

import type { CanaryStatus, RolloutStatus } from '../../crds/deployment/index.js';
import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const ONE = '/api/v1/deployments/web';
const ARCHIVE = '/api/v1/archives/deployments/web';

describe('moor rollout', () => {
  const lab = useCommandLab();
  let rollout: RolloutStatus;
  let canary: CanaryStatus | undefined;

  beforeEach(() => {
    canary = undefined;
    rollout = { state: 'progressing', revision: 4, completedRevision: 3, waitsFor: 'replica 2 to become ready' };
    const view = () => ({
      name: 'web',
      image: 'web:4',
      replicas: 2,
      rollout: { maxSurge: 2 },
      metadata: { uid: 'dep_1', generation: 4, revision: '77' },
      status: {
        uid: 'dep_1',
        phase: 'Progressing',
        observedGeneration: 4,
        updatedReplicas: 1,
        readyReplicas: 2,
        rollout,
        placements: [],
        conditions: [],
        ...(canary && { canary }),
      },
    });
    lab.api.replies.set(`GET ${ONE}`, () => ({ status: 200, body: view() }));
    lab.api.replies.set(`PUT ${ONE}`, () => ({ status: 200, body: { ...view(), alterations: [], warnings: [] } }));
    const revision = (number: number, image: string) => ({
      revision: number,
      change: 'update',
      at: '2026-01-31T12:00:00Z',
      by: 'tok',
      spec: { image, replicas: 2, secretsVersion: 0 },
    });
    lab.api.replies.set(`GET ${ARCHIVE}`, () => ({
      status: 200,
      body: { revisions: [revision(2, 'web:2'), revision(3, 'web:4'), revision(4, 'web:4')] },
    }));
    lab.api.replies.set(`POST ${ARCHIVE}/rollback`, () => ({
      status: 200,
      body: { ...view(), alterations: [], warnings: [] },
    }));
  });

  const moor = (...words: readonly string[]) => lab.moor(words);
  const written = () => lab.api.got.filter(({ method }) => method !== 'GET').map(({ body }) => body);

  it('status says how far it is and what it waits for', async () => {
    const { code, out } = await moor('rollout', 'status', 'web');
    expect(code).to.equal(0);
    expect(out).to.include('1 of 2 up to date, 2 ready; progressing, revision 4 (complete: 3); it waits for replica 2');
  });

  it('canary promote and abort give an order for the revision that was read', async () => {
    const order = { deployment: 'web', revision: 4, alterations: [], warnings: [] };
    lab.api.replies.set(`POST ${ONE}/canary`, () => ({ status: 200, body: order }));
    const promoted = await moor('canary', 'promote', 'web');
    expect([promoted.code, promoted.out]).to.deep.equal([
      0,
      'deployment/web canary of revision 4: the rest of the replicas follows\n',
    ]);
    expect((await moor('canary', 'abort', 'web')).code).to.equal(0);
    expect(written()).to.deep.equal([{ action: 'promote' }, { action: 'abort' }]);
    expect(lab.api.got.findLast(({ method }) => method === 'POST')?.ifMatch).to.equal('"77"');
    lab.api.replies.set(`POST ${ONE}/canary`, () => replyRefused(409, 'canary_not_under_way'));
    const refused = await moor('canary', 'promote', 'web');
    expect(refused.code).to.equal(1);
    expect(refused.err).to.include('canary_not_under_way');
  });

  it('status shows what of a canary is compared, and what it waits for', async () => {
    rollout = { state: 'canary', revision: 4, completedRevision: 3 };
    const side = { replicas: 1, ready: 1, unhealthy: 0, restarts: 0, exitCodes: [] };
    canary = {
      state: 'holding',
      revision: 4,
      slots: [2],
      wanted: 1,
      since: '2026-01-31T12:00:00.000Z',
      healthySince: '2026-01-31T12:00:30.000Z',
      compared: { canary: side, others: { ...side, restarts: 3, exitCodes: [137] } },
      waitsFor: 'an order',
    };
    const { code, out } = await moor('rollout', 'status', 'web');
    expect(code).to.equal(0);
    expect(out).to.include(
      'canary holding since 2026-01-31T12:00:30.000Z: replica 2 (1 ready, 0 unhealthy, 0 restarts)',
    );
    expect(out).to.include('beside 1 of the old template (1 ready, 0 unhealthy, 3 restarts, exit code 137)');
    expect(out).to.include('it waits for an order');
    expect((await moor('describe', 'deployment', 'web')).out).to.match(/^Canary: +holding since/m);
  });

  it('status of a rollout that has failed says why, and exits with 1', async () => {
    const failure = {
      revision: 4,
      at: '2026-01-31T12:00:00Z',
      reason: 'unhealthy' as const,
      message: 'replica 2: it fails',
    };
    rollout = { state: 'failed', revision: 4, failure };
    const { code, out } = await moor('rollout', 'status', 'web');
    expect(code).to.equal(1);
    expect(out).to.include('failed, revision 4; replica 2: it fails');
  });

  it('status and describe show the container of a failed rollout, and what it wrote', async () => {
    const at = '2026-01-31T12:00:00Z';
    const container = { replica: 2, containerId: 'c0ffee123456789', containerName: 'web.2', nodeName: 'machine-1' };
    const written = { exitCode: 7, output: 'no page', log: 'first\nsecond\u001b[31m' };
    const failure = { revision: 4, at, reason: 'unhealthy' as const, message: 'it fails', rolledBackTo: 3 };
    rollout = { state: 'complete', revision: 5, failure: { ...failure, ...container, ...written } };
    for (const words of [
      ['rollout', 'status', 'web'],
      ['describe', 'deployment', 'web'],
    ]) {
      const { out, err } = await moor(...words);
      expect(err).to.equal('');
      expect(out).to.include(
        '  revision 4 failed at 2026-01-31T12:00:00Z with replica 2 on machine-1, container web.2, c0ffee123456: exit code 7\n    | no page\n',
      );
      expect(out).to.include('  its own log:\n    | first\n    | second');
      expect(out).to.not.include('\u001b[31m');
    }
    rollout = { state: 'failed', revision: 4, failure: { ...failure, ...container, isWithheld: true } };
    expect((await moor('rollout', 'status', 'web')).out).to.include('(output not shown: it might hold the value');
    rollout = {
      state: 'failed',
      revision: 4,
      failure: { ...failure, ...container, output: 'no page', isWithheld: true },
    };
    expect((await moor('rollout', 'status', 'web')).out)
      .to.include('    | no page\n')
      .and.not.include('not shown');
  });

  it('pause and resume keep what else the rollout says, and only change the revision that was read', async () => {
    expect((await moor('rollout', 'pause', 'web')).code).to.equal(0);
    expect((await moor('rollout', 'resume', 'web')).code).to.equal(0);
    expect(written()).to.deep.equal([
      { rollout: { maxSurge: 2, paused: true } },
      { rollout: { maxSurge: 2, paused: false } },
    ]);
    lab.api.replies.set(`PUT ${ONE}`, () => replyRefused(412, 'revision_mismatch'));
    expect((await moor('rollout', 'pause', 'web')).code).to.equal(1);
  });

  it('undo brings back the newest revision with other containers, or the one that is named', async () => {
    expect((await moor('rollout', 'undo', 'web')).code).to.equal(0);
    expect((await moor('rollout', 'undo', 'web', '--to-revision', '3')).code).to.equal(0);
    expect(written()).to.deep.equal([{ revision: 2 }, { revision: 3 }]);
  });

  it('history lists the revisions, the newest first', async () => {
    const { code, out } = await moor('rollout', 'history', 'web');
    expect(code).to.equal(0);
    expect(
      out
        .split('\n')
        .map(line => line.split(/\s+/)[0])
        .slice(0, 4),
    ).to.deep.equal(['REVISION', '4', '3', '2']);
  });

  it('restart asks for new containers, also as a command of its own', async () => {
    await moor('rollout', 'restart', 'web');
    await moor('restart', 'web');
    expect(written().map(body => Object.keys(body as object))).to.deep.equal([['restartedAt'], ['restartedAt']]);
  });
});
