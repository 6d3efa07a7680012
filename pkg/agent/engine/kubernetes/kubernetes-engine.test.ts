import { inspect } from 'node:util';

import { expect } from 'chai';

import type { FakeProgram } from '../../../../dev/kubernetes/index.js';
import { until } from '../../../../dev/testing/index.js';
import { Secret } from '../../../secrets/index.js';
import { engineContract } from '../engine.contract.js';
import { type ContainerSpec, EngineRefusedFault, EngineUnreachableFault, ImagePullFault } from '../engine.js';
import { makePodOrder, openKubernetesLab } from './kubernetes-lab.testing.js';

engineContract('kubernetes', () => openKubernetesLab());

const CANARY = 'canary-of-a-secret';

describe('the kubernetes engine', () => {
  let lab: Awaited<ReturnType<typeof openKubernetesLab>>;
  let programs: Record<string, FakeProgram> = {};
  const environments: ReadonlyMap<string, string>[] = [];

  before(async () => {
    lab = await openKubernetesLab((name, environment) => {
      environments.push(environment);
      return programs[name] ?? { prints: ['hello'] };
    });
  });
  after(() => lab?.close());
  beforeEach(async () => {
    if (!(await lab.engine.findImage(lab.image))) await lab.engine.pull(lab.image);
    programs = {};
    environments.length = 0;
  });
  afterEach(async () => {
    lab.cluster.intercept = lab.kubelet.answer;
    for (const { id } of await lab.engine.list('node_1')) await lab.engine.remove(id);
    expect([...lab.list('pods'), ...lab.list('secrets')], 'nothing is left behind').to.deep.equal([]);
  });

  const order = (change: Partial<ContainerSpec> = {}) => makePodOrder({ image: lab.image, ...change });
  const secrets = new Map([['DB_password', new Secret(CANARY)]]);
  const catchFault = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );

  it('gives secrets to the Pod through a Secret that the Pod owns, which is gone when it runs', async () => {
    const id = await lab.engine.create(order({ secrets }));
    const [secret] = lab.list('secrets');
    expect(secret?.metadata.ownerReferences).to.deep.include({ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: id });
    expect(inspect(lab.list('pods'), { depth: null })).not.to.include(CANARY);
    await lab.engine.start(id);
    expect(environments[0]?.get('DB_password')).to.equal(CANARY);
    expect(lab.list('secrets')).to.deep.equal([]);
  });

  it('writes the Secret again for a Pod whose creation was not answered', async () => {
    lab.cluster.intercept = call => (call.method === 'POST' && call.plural === 'pods' ? 'cut-after' : undefined);
    expect(await catchFault(lab.engine.create(order({ secrets })))).to.be.instanceOf(EngineUnreachableFault);
    expect(lab.list('secrets')).to.deep.equal([]);
    lab.cluster.intercept = lab.kubelet.answer;
    const again = lab.open();
    await again.pull(lab.image);
    const id = await again.create(order({ secrets }));
    await again.start(id);
    expect(environments.at(-1)?.get('DB_password')).to.equal(CANARY);
    await again.close();
  });

  it('removes the Secret of a Pod that an agent before it has started', async () => {
    const id = await lab.engine.create(order({ secrets }));
    lab.cluster.intercept = call =>
      call.method === 'DELETE' && call.plural === 'secrets' ? 'cut' : lab.kubelet.answer(call);
    await lab.engine.start(id);
    expect(lab.list('secrets')).to.have.length(1);
    lab.cluster.intercept = lab.kubelet.answer;
    const next = lab.open();
    expect(await next.list('node_1')).to.have.length(1);
    expect(lab.list('secrets')).to.deep.equal([]);
    await next.close();
  });

  it('hands the login of a tenant to the cluster for a pull and a start, and keeps it nowhere there', async () => {
    const seen: string[] = [];
    lab.cluster.intercept = call => {
      if (call.method === 'POST' && call.plural === 'secrets') seen.push(JSON.stringify(call.body));
      return lab.kubelet.answer(call);
    };
    const login = { username: 'robot', password: new Secret(CANARY) };
    await lab.engine.pull('registry.test/private:1', login);
    await lab.engine.start(await lab.engine.create(order({ image: 'registry.test/private:1' })));
    const auth = Buffer.from(`robot:${CANARY}`).toString('base64');
    expect(seen).to.have.length(2);
    for (const body of seen) expect(body).to.include('kubernetes.io/dockerconfigjson').and.include(auth);
    expect(lab.list('secrets')).to.deep.equal([]);
  });

  it('tells the exit code of a program that ends, and what it printed', async () => {
    programs = { 'job.a.1': { prints: ['working', 'done'], exitCode: 7 } };
    const id = await lab.engine.create(order({ name: 'job.a.1' }));
    await lab.engine.start(id);
    await until('its end', async () => (await lab.engine.inspect(id))?.state === 'exited');
    expect(await lab.engine.inspect(id)).to.include({ exitCode: 7 });
    expect(await lab.engine.readLastLines(id)).to.deep.equal({ output: 'working\ndone' });
  });

  it('withholds the last lines of a program that was given secrets', async () => {
    programs = { web: { prints: [`no access with ${CANARY}`], exitCode: 1 } };
    const id = await lab.engine.create(order({ secrets }));
    await lab.engine.start(id);
    expect(await lab.engine.readLastLines(id)).to.deep.equal({ isWithheld: true });
  });

  for (const refused of [
    ['CreateContainerConfigError', 'container has runAsNonRoot and image will run as root'],
    ['ImagePullBackOff', 'unauthorized'],
  ] as const) {
    it(`says that a Pod does not start (${refused[0]}), and removes it first`, async () => {
      programs = { web: { refused } };
      const id = await lab.engine.create(order({ secrets }));
      const thrown = await catchFault(lab.engine.start(id));
      expect(thrown).to.be.instanceOf(EngineRefusedFault);
      expect(thrown?.message).to.match(/^the cluster does not start the Pod: .*(will run as root|denied access)/);
      expect(lab.list('pods')).to.deep.equal([]);
      const isPulledAgain = (await lab.engine.findImage(lab.image)) === undefined;
      expect(isPulledAgain, 'its login may have been replaced').to.equal(refused[0] === 'ImagePullBackOff');
    });
  }

  it('kills what does not end in time', async () => {
    programs = { web: { ignoresTerm: true } };
    const patient = await openKubernetesLab(() => ({ ignoresTerm: true }), { stopSlackMs: 200 });
    await patient.engine.pull(patient.image);
    const id = await patient.engine.create(order());
    await patient.engine.start(id);
    await patient.engine.stop(id, 0);
    expect(await patient.engine.inspect(id)).to.equal(undefined);
    await patient.close();
  });

  it('does not remove a Pod of the same name that came later', async () => {
    const id = await lab.engine.create(order());
    await lab.engine.remove(id);
    const later = await lab.engine.create(order());
    await lab.engine.remove(id);
    await lab.engine.stop(id, 1);
    expect((await lab.engine.list('node_1')).map(each => each.id)).to.deep.equal([later]);
  });

  it('says what it cannot do, and refuses it', async () => {
    expect(lab.engine.lacks).to.include.members(['volumes', 'networks', 'host_ports']);
    expect(await catchFault(lab.engine.create(order({ networks: ['n'] })))).to.be.instanceOf(EngineRefusedFault);
    expect(await catchFault(lab.engine.create(order({ user: 'root' })))).to.be.instanceOf(EngineRefusedFault);
    expect(await catchFault(lab.engine.pull(lab.absentImage))).to.be.instanceOf(ImagePullFault);
  });
});
