import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect } from 'chai';

import { itDeep, until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { dieAt } from '../lab/dying-at.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { JobClient } from '../lab/job-client.js';
import { runMoor } from '../lab/moor.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

describe('a job on a real engine', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let jobs: JobClient;
  let machine: EnrolledMachine;
  let image: string;
  /** Counts, outside of the machine, how often the program of a job has begun. */
  let counter: Server;
  const begun = new Map<string, number>();
  let ask: (name: string) => string;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_LEADER_LEASE_SECONDS: '2' });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    jobs = new JobClient(shop);
    machine = await fleet.enrol(shop.client, 'shop-1');
    image = await fleet.image('1');
    counter = createServer((request, response) => {
      const count = (begun.get(request.url ?? '') ?? 0) + 1;
      begun.set(request.url ?? '', count);
      response.end(String(count));
    });
    await jobs.create({ name: 'first', image, command: ['true'] });
    await jobs.reaches('first', 'Succeeded');
    const gateway = await fleet.view.gateway(`mooring-${shop.id}`);
    await new Promise<void>(resolve => counter.listen(0, gateway, resolve));
    const { port } = counter.address() as AddressInfo;
    ask = name => `wget -q -O - http://${gateway}:${port}/${name}`;
  });
  after(async () => {
    counter?.close();
    await fleet?.stop();
    await plane?.stop();
  });

  const shell = (script: string) => ({ image, entrypoint: ['/bin/sh', '-c'], command: [script] });
  const count = (name: string) => begun.get(`/${name}`) ?? 0;

  it('runs to its end, keeps its exit code and its log, and can be deleted', async () => {
    await jobs.create({ name: 'migrate', ...shell('echo migrated; echo done') });
    const { status } = await jobs.reaches('migrate', 'Succeeded');
    expect(status).to.include({ exitCode: 0, attempts: 1 });
    expect(status.history).to.have.length(1);
    expect(Date.parse(status.finishedAt!)).to.be.at.least(Date.parse(status.startedAt!) - 1000);
    await until('its container to be gone', async () => (await jobs.containers(fleet, 'migrate')).length === 0);
    expect(await jobs.log('migrate')).to.equal('migrated\ndone\n');

    await jobs.remove('migrate');
    expect((await plane.storedKeys()).filter(key => key.includes('migrate'))).to.deep.equal([]);
  });

  it('is tried again after a failure: it fails twice, then succeeds', async () => {
    await jobs.create({
      name: 'third-time',
      ...shell(`n=$(${ask('third-time')}); echo try $n; test $n -ge 3 || exit 7`),
    });
    const { status } = await jobs.reaches('third-time', 'Succeeded');
    expect(status).to.include({ exitCode: 0, attempts: 3 });
    expect(status.history.map(({ exitCode }) => exitCode)).to.deep.equal([7, 7, 0]);
    expect(status.history.slice(0, 2).map(({ state }) => state)).to.deep.equal(['Failed', 'Failed']);
    expect(count('third-time')).to.equal(3);
    expect(await jobs.log('third-time', 1)).to.equal('try 1\n');
    expect(await jobs.log('third-time')).to.equal('try 3\n');
  });

  itDeep('fails when every attempt has failed', async () => {
    await jobs.create({ name: 'hopeless', backoffLimit: 1, ...shell('exit 3') });
    const { status } = await jobs.reaches('hopeless', 'Failed');
    expect(status).to.include({ exitCode: 3, attempts: 2, reason: 'backoff_limit_reached' });
    expect(status.message).to.contain('exit code 3');
  });

  itDeep('fails when its program does not exist, and says why', async () => {
    await jobs.create({ name: 'absent', backoffLimit: 0, image, entrypoint: ['/bin/nothing'] });
    const { status } = await jobs.reaches('absent', 'Failed');
    expect(status.exitCode).to.equal(undefined);
    expect(status.history[0]).to.include({ reason: 'start_failed' });
    await until('its container to be gone', async () => (await jobs.containers(fleet, 'absent')).length === 0);
  });

  itDeep('says that it ran out of memory', async () => {
    const resources = { limits: { memory: '16Mi' } };
    const script = 'x=0123456789; while :; do x=$x$x; done';
    await jobs.create({ name: 'hungry', backoffLimit: 0, resources, ...shell(script) });
    const { status } = await jobs.reaches('hungry', 'Failed');
    expect(status.history[0]).to.include({ reason: 'oom_killed' });
    expect(status.message).to.include('out of memory (limit 16Mi)');
  });

  it('receives its secrets', async () => {
    const values = { password: 'correct horse battery staple' };
    unwrap(await shop.client.request('PUT', '/api/v1/secrets/deployments/ledger', { body: { values } }));
    const secrets = [{ name: 'LEDGER', vault_path: 'deployments/ledger', anchor: 'process' }];
    await jobs.create({ name: 'books', backoffLimit: 0, secrets, ...shell('echo ${#LEDGER_password} characters') });
    await jobs.reaches('books', 'Succeeded');
    expect(await jobs.log('books')).to.equal(`${values.password.length} characters\n`);
  });

  itDeep('is asked to stop when its time is over, and killed when it does not', async () => {
    const script = 'trap "echo not yet" TERM; while :; do sleep 1; done';
    await jobs.create({ name: 'slow', backoffLimit: 0, timeoutSeconds: 2, ...shell(script) });
    const { status } = await jobs.reaches('slow', 'Failed');
    expect(status.history[0]).to.include({ reason: 'timed_out', state: 'Failed' });
    expect(status.exitCode).to.equal(137);
    expect(await jobs.log('slow')).to.equal('not yet\n');
  });

  it('is stopped when it is deleted', async () => {
    await jobs.create({ name: 'endless', ...shell('trap "exit 0" TERM; sleep 600 & wait') });
    await jobs.reaches('endless', 'Running');
    await jobs.remove('endless');
    expect(await jobs.containers(fleet, 'endless')).to.deep.equal([]);
  });

  itDeep('is removed by itself when it has been kept for long enough', async () => {
    await jobs.create({ name: 'brief', ttlSecondsAfterFinished: 1, ...shell('true') });
    await jobs.isGone('brief');
    expect((await plane.storedKeys()).filter(key => key.includes('brief') && !key.startsWith('events/'))).to.deep.equal(
      [],
    );
  });

  itDeep('is run by moor run, which prints its output and passes its exit code on', async () => {
    const moor = (...argv: readonly string[]) => runMoor(plane, shop, ...argv);
    const failing = await moor('run', image, '--', '/bin/sh', '-c', 'echo one; sleep 1; echo two; exit 42');
    expect(failing).to.include({ status: 42, stdout: 'one\ntwo\n' });
    const passing = await moor('run', image, '--name', 'ran', '-e', 'MODE=a', '--', '/bin/sh', '-c', 'echo $MODE');
    expect(passing).to.deep.equal({ status: 0, stdout: 'a\n', stderr: '' });
    expect((await moor('jobs')).stdout).to.match(/^ran +Succeeded +1\/1 +0 /m);
    expect((await moor('logs', 'job/ran')).stdout).to.equal('a\n');
    expect((await moor('describe', 'job', 'ran')).stdout).to.contain('job.succeeded');
    expect((await moor('delete', 'job', 'ran')).stdout).to.equal('job/ran deleted\n');
  });

  const deaths = [
    { point: 'agent.created', runs: 1, attempts: 1 },
    { point: 'agent.attempt_noted', runs: 1, attempts: 2 },
    { point: 'agent.started', runs: 1, attempts: 1 },
    { point: 'agent.removed', runs: 1, attempts: 1 },
  ] as const;
  for (const { point, runs, attempts } of deaths) {
    itDeep(`runs each attempt once when the agent dies at ${point}, and keeps its exit code`, async () => {
      const name = point.replace(/[._]/g, '-');
      await dieAt({ part: machine.agent, at: [point] }, async () => {
        await jobs.create({ name, ...shell(`${ask(name)}; exit 0`) });
        const { status } = await jobs.reaches(name, 'Succeeded');
        expect(status).to.include({ exitCode: 0, attempts });
      });
      expect(count(name)).to.equal(runs);
    });
  }

  for (const point of ['agent.stopping', 'agent.stopped'] as const) {
    itDeep(
      `counts one as timed out whose program ends well when it is stopped, also when the agent dies at ${point}`,
      async () => {
        const name = point.replace('.', '-');
        const script = 'trap "exit 0" TERM; sleep 600 & wait';
        await dieAt({ part: machine.agent, at: [point] }, async () => {
          await jobs.create({ name, backoffLimit: 0, timeoutSeconds: 2, ...shell(script) });
          const { status } = await jobs.reaches(name, 'Failed');
          expect(status).to.include({ exitCode: 0, attempts: 1 });
          expect(status.history[0]).to.include({ reason: 'timed_out' });
        });
      },
    );
  }

  for (const point of ['job.deciding', 'job.decided'] as const) {
    itDeep(`runs each attempt once when the controllers die at ${point}, again and again`, async () => {
      const name = point.replace('.', '-');
      await dieAt({ part: plane.controllers, at: [point, point, point] }, async () => {
        await jobs.create({ name, backoffLimit: 0, ...shell(`${ask(name)}; exit 5`) });
        const { status } = await jobs.reaches(name, 'Failed');
        expect(status).to.include({ exitCode: 5, attempts: 1 });
      });
      expect(count(name)).to.equal(1);
    });
  }

  itDeep('runs each attempt once when everything is killed in the middle', async () => {
    await jobs.create({ name: 'storm', backoffLimit: 0, ...shell(`${ask('storm')}; sleep 5; exit 9`) });
    await until('it to have begun', async () => count('storm') === 1);
    await Promise.all([machine.agent.kill('SIGKILL'), plane.controllers.kill('SIGKILL'), plane.api.kill('SIGKILL')]);
    await until('its container to end', async () =>
      (await jobs.containers(fleet, 'storm')).every(({ state }) => state === 'exited'),
    );
    machine.agent.start();
    plane.controllers.start();
    plane.api.start();
    await plane.serving();
    const { status } = await jobs.reaches('storm', 'Failed');
    expect(status).to.include({ exitCode: 9, attempts: 1 });
    expect(count('storm')).to.equal(1);
  });

  itDeep('counts an attempt as lost whose container was removed by hand, and makes another one', async () => {
    await jobs.create({ name: 'stolen', backoffLimit: 1, ...shell(`n=$(${ask('stolen')}); test $n = 2 || sleep 600`) });
    await jobs.reaches('stolen', 'Running');
    await until('it to have begun', async () => count('stolen') === 1);
    for (const { id } of await jobs.containers(fleet, 'stolen')) await fleet.view.remove(id);
    const { status } = await jobs.reaches('stolen', 'Succeeded');
    expect(status.history.map(({ state }) => state)).to.deep.equal(['Failed', 'Succeeded']);
    // The agent may or may not have looked between the kill and the removal.
    expect(status.history[0]?.reason).to.be.oneOf(['container_lost', 'container_exited']);
    expect(count('stolen')).to.equal(2);
  });
});
