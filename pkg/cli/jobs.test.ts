import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const ONE = '/api/v1/jobs/migrate';
const view = (status: object) => ({ name: 'migrate', status: { history: [], attempts: 0, message: '', ...status } });

describe('moor run', () => {
  const lab = useCommandLab();

  /** Runs a job that is interrupted as soon as it waits. */
  const interrupt = async (deletion: Parameters<typeof lab.api.replies.set>[1]) => {
    const stop = new AbortController();
    lab.api.replies.set('POST /api/v1/jobs', { status: 201, body: view({ phase: 'Pending' }) });
    lab.api.replies.set(`GET ${ONE}`, () => {
      stop.abort();
      return { status: 200, body: view({ phase: 'Pending' }) };
    });
    lab.api.replies.set(`DELETE ${ONE}`, deletion);
    return lab.moor(['run', 'migrate:1', '--name', 'migrate'], { interrupted: stop.signal });
  };

  for (const [what, deletion] of [
    ['it is deleted', { status: 200, body: view({ phase: 'Pending' }) }],
    ['it is gone already', replyRefused(404, 'resource_not_found')],
  ] as const) {
    it(`says that the job is deleted when it is interrupted and ${what}`, async () => {
      const { code, err } = await interrupt(deletion);
      expect([code, err]).to.deep.equal([130, 'job/migrate is stopped and deleted\n']);
    });
  }

  it('says that the job may still run when the server refuses to delete it', async () => {
    const { code, err } = await interrupt(replyRefused(503, 'store_unavailable'));
    expect(code).to.equal(130);
    expect(err).to.contain('store_unavailable').and.contain('"moor delete job migrate"').and.not.contain('is stopped');
  });

  it('sends the restart policy and the retries that are asked for', async () => {
    const sent = async (...words: string[]) => {
      lab.api.replies.set('POST /api/v1/jobs', { status: 201, body: view({ phase: 'Pending' }) });
      await lab.moor(['run', 'migrate:1', '--name', 'migrate', '--detach', ...words]);
      const { restartPolicy, backoffLimit } = lab.api.got.at(-1)!.body as Record<string, unknown>;
      return [restartPolicy, backoffLimit];
    };
    expect(await sent()).to.deep.equal([undefined, 0]);
    expect(await sent('--retries', '2')).to.deep.equal([undefined, 2]);
    expect(await sent('--restart', 'Never')).to.deep.equal(['Never', undefined]);
    expect(await sent('--restart', 'OnFailure')).to.deep.equal(['OnFailure', undefined]);
    expect(await sent('--restart', 'OnFailure', '--retries', '5')).to.deep.equal(['OnFailure', 5]);
    const wrong = await lab.moor(['run', 'migrate:1', '--restart', 'Always']);
    expect([wrong.code, wrong.err]).to.deep.include(2);
    expect(wrong.err).to.contain('Never, OnFailure');
  });

  it('passes on the exit code of the last attempt, and none where that is not known', async () => {
    for (const [status, passed] of [
      [{ phase: 'Failed', exitCode: 42 }, 42],
      [{ phase: 'Failed' }, 1],
      [{ phase: 'Succeeded', exitCode: 0 }, 0],
    ] as const) {
      lab.api.replies.set('POST /api/v1/jobs', { status: 201, body: view({ phase: 'Pending' }) });
      lab.api.replies.set(`GET ${ONE}`, { status: 200, body: view(status) });
      expect((await lab.moor(['run', 'migrate:1', '--name', 'migrate'])).code).to.equal(passed);
    }
  });
});

describe('moor secrets with jobs', () => {
  const lab = useCommandLab();

  it('shows those that use a credential', async () => {
    const used = { name: 'DB', anchor: 'external' };
    const consumers = [
      { kind: 'Deployment', deployment: 'web', entries: [used], templates: [] },
      { kind: 'Job', job: 'seed', entries: [used], templates: [] },
    ];
    lab.api.replies.set('GET /api/v1/secrets/resources/web-db/consumers', { status: 200, body: { consumers } });
    expect((await lab.moor(['secrets', 'consumers', 'deployments/web-db'])).out).to.match(/^web +DB.*\njob\/seed +DB/m);
    const secret = { path: 'deployments/web-db', keys: ['user'], version: 1, deployments: ['web'], jobs: ['seed'] };
    lab.api.replies.set('GET /api/v1/secrets/deployments/web-db', { status: 200, body: secret });
    expect((await lab.moor(['secrets', 'show', 'deployments/web-db'])).out).to.contain('web, job/seed');
    lab.api.replies.set('GET /api/v1/secrets', { status: 200, body: { items: [secret] } });
    expect((await lab.moor(['secrets', 'list'])).out).to.contain('web, job/seed');
  });
});

describe('moor logs of a job that is deleted while it is followed', () => {
  const lab = useCommandLab();

  it('end at once', async () => {
    const status = { phase: 'Running', attempts: 1, history: [{ attempt: 1, state: 'Running' }] };
    lab.api.replies.set(`GET ${ONE}`, { status: 200, body: view(status) });
    const gone = {
      code: 'resource_not_found',
      field: 'name',
      received: 'migrate',
      expected: '',
      why: 'gone',
      doc: 'http://x',
    };
    let asked = 0;
    lab.api.replies.set(`GET ${ONE}/logs?follow=true&attempt=1`, () => {
      asked++;
      return { status: 404, body: { ...gone, rejections: [gone] } };
    });
    const clock = new ManualClock(); // which nobody moves: it cannot be waited for
    const { code, err } = await lab.moor(['logs', 'job/migrate', '--follow'], { clock });
    expect([code, asked]).to.deep.equal([3, 1]);
    expect(err).to.contain('resource_not_found');
  });
});
