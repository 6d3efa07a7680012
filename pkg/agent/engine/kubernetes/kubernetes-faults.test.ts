import type { ServerResponse } from 'node:http';

import { expect } from 'chai';

import { StatusError } from '../../../../dev/kubernetes/index.js';
import { until } from '../../../../dev/testing/index.js';
import { systemClock } from '../../../clock/index.js';
import { ManualClock } from '../../../clock/manual-clock.testing.js';
import { silentLogger } from '../../../log/index.js';
import { Secret } from '../../../secrets/index.js';
import { type ContainerSpec, EngineRefusedFault, EngineUnreachableFault } from '../engine.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { makePodOrder, openKubernetesLab, podOwner, toResource } from './kubernetes-lab.testing.js';
import { followPods } from './pod-events.js';

const login = { username: 'robot', password: new Secret('canary-of-a-secret') };
const secrets = new Map([['DB_password', new Secret('canary-of-a-secret')]]);
const PRIVATE = 'registry.test/private:1';

describe('the kubernetes engine, when the cluster or others in the namespace do what is not expected', () => {
  let lab: Awaited<ReturnType<typeof openKubernetesLab>>;
  let aheadMs = 0;

  beforeEach(async () => {
    aheadMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    lab = await openKubernetesLab(undefined, { clock });
    await lab.engine.pull(lab.image);
  });
  afterEach(() => lab.close());

  const order = (change: Partial<ContainerSpec> = {}) => makePodOrder({ image: lab.image, ...change });
  const catchFault = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
  const nameOf = (plural: string) => lab.list(plural).map(({ metadata }) => metadata.name);

  const JSON_TYPE = 'application/json';
  const absent = { kind: 'Status', reason: 'NotFound', details: { name: 'mooring', kind: 'namespaces' } };
  for (const [what, status, type, body] of [
    ['the 404 of a proxy', 404, 'text/html', '<html>'],
    ['a 404 about something else', 404, JSON_TYPE, JSON.stringify(absent)],
    ['a 404 that says nothing', 404, JSON_TYPE, 'null'],
    ['a page', 200, 'text/html', '<html>'],
    ['nothing', 200, JSON_TYPE, 'null'],
    ['another object', 200, JSON_TYPE, '{"metadata":{}}'],
  ] as const) {
    it(`does not take ${what} for the absence of a Pod (${status})`, async () => {
      const id = await lab.engine.create(order());
      lab.cluster.intercept = call =>
        call.method === 'GET' && call.plural === 'pods'
          ? response => void response.writeHead(status, { 'content-type': type }).end(body)
          : lab.kubelet.answer(call);
      const { engine } = lab;
      const calls = [() => engine.inspect(id), () => engine.remove(id), () => engine.stop(id, 1)];
      for (const call of calls) expect(await catchFault(call())).to.be.instanceOf(EngineUnreachableFault);
      if (status === 200) expect(await catchFault(engine.list('node_1'))).to.be.instanceOf(EngineUnreachableFault);
    });
  }

  for (const plural of ['pods', 'secrets']) {
    it(`does not take a conflict of the quota for a name that is taken (${plural})`, async () => {
      let asked = 0;
      lab.cluster.intercept = call => {
        if (call.method !== 'POST' || call.plural !== plural || ++asked > 5) return lab.kubelet.answer(call);
        throw new StatusError(409, 'Conflict', 'Operation cannot be fulfilled on resourcequotas "all"');
      };
      const thrown = await catchFault(lab.engine.create(order({ secrets })));
      expect(thrown).to.be.instanceOf(EngineRefusedFault);
      expect(thrown?.message).to.include('resourcequotas');
      expect(asked).to.equal(1);
    });
  }

  it('ends the answer about a log that there is none of', async () => {
    const id = await lab.engine.create(order());
    let response: ServerResponse | undefined;
    lab.cluster.intercept = call => {
      if (call.subresource !== 'log') return lab.kubelet.answer(call);
      return given => {
        response = given.writeHead(400);
        const timer = setInterval(() => given.write('.'), 100);
        given.on('close', () => clearInterval(timer));
      };
    };
    for await (const _entry of lab.engine.logs(id, {}, new AbortController().signal)) expect.fail('it has no log');
    await until('the end of the answer', () => response?.destroyed, 30_000);
  });

  it('says once that it may not watch, and asks seldom', async () => {
    let asked = 0;
    let isRefused = true;
    const end = new AbortController();
    const open = () => {
      asked++;
      const chunks = (async function* () {})();
      return isRefused ? Promise.reject(new EngineRefusedFault(403, 'pods is forbidden')) : Promise.resolve(chunks);
    };
    const api = { path: () => Promise.resolve('/pods'), open } as unknown as KubernetesApi;
    const warnings: unknown[] = [];
    const log = { ...silentLogger, warn: (...words: unknown[]) => void warnings.push(words) };
    const clock = new ManualClock();
    const told: unknown[] = [];
    const following = followPods({ api, clock, log, nodeId: 'node_1' }, event => told.push(event), end.signal);
    await clock.pass(60_000);
    expect(asked).to.be.within(2, 5);
    expect(warnings).to.have.length(1);
    isRefused = false;
    await clock.pass(60_000);
    expect(told).to.include('everything');
    end.abort();
    await following;
  });

  it('deletes no Secret that others name in a Pod', async () => {
    lab.cluster.objects.create(toResource('secrets'), { metadata: { name: 'database' } } as never);
    const id = await lab.engine.create(order({ secrets }));
    await lab.engine.create(order({ name: 'web.1', owner: { ...podOwner, slot: 1, replica: 'rep_2' }, secrets }));
    const [first, second] = lab.list('pods');
    const annotate = (pod: typeof first, secret: unknown) =>
      lab.cluster.objects.replace(toResource('pods'), pod!.metadata.name, {
        ...pod,
        metadata: { ...pod!.metadata, annotations: { ...pod!.metadata.annotations, 'mooring.io/secret': secret } },
      } as never);
    const ofSecond = second?.metadata.annotations?.['mooring.io/secret'];
    annotate(first, ofSecond);
    await lab.engine.start(id);
    expect(nameOf('secrets'), 'that of the Pod itself is gone').to.have.members(['database', ofSecond]);
    annotate(
      lab.list('pods').find(({ metadata }) => metadata.name === 'web'),
      'database',
    );
    const next = lab.open();
    await next.list('node_1');
    await next.remove(id);
    expect(nameOf('secrets')).to.have.members(['database', ofSecond]);
    await next.close();
  });

  /** A pull by an agent that ends before it has let the Pod be scheduled. */
  const leavePull = async (nodeId: string) => {
    lab.cluster.intercept = call => (['PATCH', 'DELETE'].includes(call.method) ? 'cut' : lab.kubelet.answer(call));
    const before = lab.open();
    expect(await catchFault(before.pull(PRIVATE, login, undefined, nodeId))).to.be.instanceOf(EngineUnreachableFault);
    await before.close();
    lab.cluster.intercept = lab.kubelet.answer;
    expect([...nameOf('pods'), ...nameOf('secrets')]).to.have.length(2);
  };

  it('removes what a pull of an earlier agent of the node has left, with its login', async () => {
    await leavePull('node_1');
    expect(await lab.engine.list('node_2')).to.deep.equal([]);
    expect(lab.list('secrets'), 'of another node').to.have.length(1);
    expect(await lab.engine.list('node_1')).to.deep.equal([]);
    await until('its end', () => lab.list('pods').length + lab.list('secrets').length === 0);
  });

  it('removes what a pull of an agent that came back no more has left', async () => {
    await leavePull('node_2');
    await lab.engine.pull(lab.image, undefined, undefined, 'node_1');
    expect(lab.list('secrets'), 'it may be under way').to.have.length(1);
    aheadMs = 3_600_000;
    await lab.engine.pull(lab.image, undefined, undefined, 'node_1');
    await until('its end', () => lab.list('pods').length + lab.list('secrets').length === 0);
  });

  it('leaves the Pod of a pull that is under way, by itself or by another', async () => {
    let go = () => {};
    const gate = new Promise<void>(resolve => (go = resolve));
    let first: string | undefined;
    lab.cluster.intercept = async call => {
      if (call.method === 'GET' && call.plural === 'pods' && call.name !== undefined) {
        first ??= call.name;
        if (call.name === first) await gate;
      }
      return lab.kubelet.answer(call);
    };
    const pulling = catchFault(lab.engine.pull(PRIVATE, undefined, undefined, 'node_1'));
    const phases = () => lab.list('pods').map(({ status }) => (status as { phase?: string } | undefined)?.phase);
    await until('the end of its Pod', () => first !== undefined && phases().includes('Failed'));
    await lab.engine.pull(lab.image, undefined, undefined, 'node_1');
    await lab.engine.list('node_1');
    const another = lab.open();
    await another.pull(lab.image, undefined, undefined, 'node_2');
    await another.close();
    go();
    expect(await pulling).to.equal(undefined);
  });
});
