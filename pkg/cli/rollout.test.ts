import { expect } from 'chai';

import type { RolloutStatus } from '../../crds/deployment/index.js';
import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const ONE = '/api/v1/deployments/web';
const ARCHIVE = '/api/v1/archives/deployments/web';

describe('moor rollout', () => {
  const lab = useCommandLab();
  let rollout: RolloutStatus;

  beforeEach(() => {
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
