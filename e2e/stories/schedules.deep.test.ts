import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { dieAt } from '../lab/dying-at.js';
import { Fleet } from '../lab/fleet.js';
import { JobClient } from '../lab/job-client.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

/** Ticks are minutes. */
const THREE_TICKS_MS = 420_000;

describe('a job with a schedule on a real engine', function () {
  this.timeout(600_000);
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let jobs: JobClient;
  let image: string;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    jobs = new JobClient(shop);
    await fleet.enrol(shop.client, 'shop-1');
    image = await fleet.image('1');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  const shell = (script: string) => ({ image, entrypoint: ['/bin/sh', '-c'], command: [script] });
  const tell = async (name: string, type: string): Promise<readonly StoredEvent[]> => {
    const query = { type, subject: name, limit: 100 };
    const answer = await shop.client.request<{ items: StoredEvent[] }>('GET', '/api/v1/events', { query });
    return unwrap(answer).items;
  };

  it('runs each of three ticks once, though the controllers are killed at every step of it', async () => {
    const steps = ['schedule.deciding', 'schedule.decided'] as const;
    const deaths = [...steps, ...steps, ...steps];
    await dieAt({ part: plane.controllers, at: deaths }, async () => {
      await jobs.create({ name: 'tidy', schedule: '* * * * *', ...shell('echo tidied') });
      await jobs.create({ name: 'slow', schedule: '* * * * *', concurrencyPolicy: 'Forbid', ...shell('sleep 600') });
      const hasThree = async () => {
        const shown = await jobs.show('tidy').catch(() => undefined);
        const ended = shown?.status.runs?.filter(({ phase }) => phase === 'Succeeded') ?? [];
        return ended.length === 3 && shown;
      };
      const { status } = await until('three ticks to have run', hasThree, THREE_TICKS_MS);
      expect(status).to.include({ phase: 'Scheduled', attempts: 0 });
      expect(status.lastRun?.exitCode).to.equal(0);
    });

    const made = (await tell('tidy', 'job.run_created')).map(({ data }) => data['scheduledAt']);
    expect(new Set(made).size, 'ticks that had one run').to.equal(made.length);
    const { runs = [] } = (await jobs.show('tidy')).status;
    for (const { name, scheduledAt } of runs) {
      const { metadata, status } = await jobs.show(name);
      expect(metadata).to.deep.include({ scheduledAt });
      expect(metadata.owner?.name).to.equal('tidy');
      if (status.phase === 'Succeeded') expect(status.attempts).to.equal(1);
    }
    expect(await jobs.log(runs[0]!.name)).to.equal('tidied\n');
  });

  it('never has two runs at once that may not', async () => {
    const { status } = await jobs.show('slow');
    expect(status.active).to.have.length(1);
    expect(await tell('slow', 'job.run_created')).to.have.length(1);
    expect((await tell('slow', 'job.run_skipped'))[0]).to.include({ reason: 'run_still_active' });
    expect(await jobs.containers(fleet, status.active![0]!)).to.have.length(1);
  });

  it('goes with its runs, which are stopped', async () => {
    const { status } = await jobs.show('slow');
    await jobs.remove('slow');
    expect(await jobs.containers(fleet, status.active![0]!)).to.deep.equal([]);
    await jobs.remove('tidy');
    const left = (await plane.storedKeys()).filter(key => /^(jobs|job-status|replicas)\//.test(key));
    expect(left).to.deep.equal([]);
  });
});
