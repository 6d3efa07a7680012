import { inspect } from 'node:util';

import { expect } from 'chai';

import { type KubernetesBridge, SideUnreadableFault } from '../../bridge/index.js';
import { kubeApiserverProgram } from '../../dev/kubernetes/index.js';
import { itDeep, until } from '../../dev/testing/index.js';
import { seededRandom } from '../../pkg/clock/index.js';
import type { LogFields, Logger } from '../../pkg/log/index.js';
import { BridgeLab } from '../lab/bridge.js';
import { type BridgeCluster, realCluster, standInCluster } from '../lab/bridge-cluster.js';

const spec = { image: 'registry.example.com/shop/web:1.4.2', replicas: 2 };
const at = (name: string) => `/api/v1/deployments/${name}`;

const NAMESPACES = ['stories', 'away', 'leaders', 'mortals-1', 'mortals-2'];
const describeReal = kubeApiserverProgram === '' ? describe.skip : describe;

describe('the bridge', () => bridgeStories(standInCluster));
describeReal('the bridge on a kube-apiserver (MOORING_KUBE_APISERVER names the program)', () =>
  bridgeStories(() => realCluster(NAMESPACES)),
);

function bridgeStories(makeCluster: () => BridgeCluster): void {
  let cluster: BridgeCluster;
  before(async function () {
    this.timeout(300_000);
    cluster = makeCluster();
    await cluster.start();
  });
  after(() => cluster?.stop());
  const openLab = (namespace: string) => new BridgeLab(cluster, namespace).start();

  let lab: BridgeLab;
  let bridge: KubernetesBridge;
  let isMooringDown = false;
  let isMooringReadOnly = false;
  const written: string[] = [];
  const write = (message: string, fields?: LogFields) => void written.push(inspect([message, fields], { depth: 9 }));
  const log: Logger = { error: write, warn: write, info: write, debug: write, with: () => log };
  before(async () => {
    lab = await openLab('stories');
    start();
  });
  after(() => lab?.stop());

  const start = () => {
    const secrets = [{ namespace: 'stories', name: 'database', tenant: lab.mooring.a, path: 'resources/database' }];
    bridge = lab.startBridge({ log, secrets }, (_when, method, path) => {
      if ((isMooringDown || (isMooringReadOnly && method !== 'GET')) && path.includes(lab.mooring.a))
        throw new SideUnreadableFault('Mooring is down');
    });
  };

  const sync = (expected: string, name = 'web', plural = 'deployments') =>
    until(`${plural}/${name} ${expected}`, async () => (await lab.condition(plural, name, 'Synced')) === expected);

  it('mirrors a deployment, its changes and its end, and tells its status and its events', async () => {
    await lab.declare('deployments', 'web', { ...spec, command: ['serve'] }, { labels: { app: 'web' } });
    await sync('True Synced');
    expect((await lab.ask('GET', at('web'))).body).to.deep.include({ replicas: 2, labels: { app: 'web' } });
    expect(await lab.condition('deployments', 'web', 'Admitted')).to.equal('True Admitted');
    const { uid } = (await lab.find('deployments', 'web'))!.metadata;
    await until('the event of its creation', async () =>
      (await lab.events()).some(({ involvedObject, reason }) => involvedObject.uid === uid && reason === 'created'),
    );

    await lab.declare('deployments', 'web', { ...spec, replicas: 3 });
    await until('the change', async () => (await lab.ask('GET', at('web'))).body['replicas'] === 3);
    expect((await lab.ask('GET', at('web'))).body['command'] ?? null).to.equal(null);

    await lab.ask('PUT', at('web'), { replicas: 7 });
    await until('what the cluster asks for', async () => (await lab.ask('GET', at('web'))).body['replicas'] === 3);

    await lab.delete('deployments', 'web');
    await sync('False BeingDeleted');
    await lab.finishDeletions('deployments');
    await until('the end', async () => (await lab.find('deployments', 'web')) === undefined);
  });

  it('tells why Mooring refuses, and goes on when that is repaired', async () => {
    await lab.declare('deployments', 'bad', { ...spec, image: 'registry.example.com/shop/web:latest' });
    await sync('False Refused', 'bad');
    expect(await lab.condition('deployments', 'bad', 'Admitted')).to.equal('False image_required');
    await lab.declare('deployments', 'bad', spec);
    await sync('True Synced', 'bad');
    await lab.declare('deployments', 'bad', { ...spec, image: '' });
    await sync('False Refused', 'bad');
    expect((await lab.ask('GET', at('bad'))).body['image']).to.equal(spec.image);
  });

  itDeep('leaves what it did not create, and takes it when it is handed over', async () => {
    const made = await lab.ask('POST', '/api/v1/deployments', { kind: 'Deployment', name: 'theirs', ...spec });
    await lab.declare('deployments', 'theirs', { ...spec, replicas: 5 });
    await sync('False Conflict', 'theirs');
    expect(await lab.condition('deployments', 'theirs', 'Conflict')).to.equal('True Conflict');
    await lab.delete('deployments', 'theirs');
    await until('the end', async () => (await lab.find('deployments', 'theirs')) === undefined);
    expect((await lab.ask('GET', at('theirs'))).body['replicas']).to.equal(2);

    const { uid } = made.body['metadata'] as { readonly uid: string };
    await lab.declare('deployments', 'theirs', { ...spec, replicas: 5 }, { annotations: { 'mooring.io/uid': uid } });
    await sync('True Synced', 'theirs');
    expect((await lab.ask('GET', at('theirs'))).body['replicas']).to.equal(5);
  });

  itDeep('takes a copy of an object for another one, whatever its annotations say', async () => {
    await lab.declare('deployments', 'copied', spec);
    await sync('True Synced', 'copied');
    const { annotations, finalizers } = (await lab.find('deployments', 'copied'))!.metadata;
    // Gone without its finalizer, as with its cluster, and restored with another uid.
    await lab.stopBridge(bridge);
    await lab.declare('deployments', 'copied', spec, { finalizers: [] });
    await lab.delete('deployments', 'copied');
    expect(await lab.find('deployments', 'copied')).to.equal(undefined);
    await lab.declare('deployments', 'copied', { ...spec, replicas: 9 }, { annotations, finalizers });
    start();
    await sync('False Conflict', 'copied');
    await lab.delete('deployments', 'copied');
    await until('the end of the copy', async () => (await lab.find('deployments', 'copied')) === undefined);
    const { body } = await lab.ask('GET', at('copied'));
    expect([body['replicas'], (body['metadata'] as { deletedAt?: string }).deletedAt]).to.deep.equal([2, undefined]);
  });

  itDeep('takes a volume that is handed over', async () => {
    const volume = { class: 'ephemeral', sizeBytes: 1_073_741_824 };
    const made = await lab.ask('POST', '/api/v1/dvm/volumes', { name: 'found', ...volume });
    const { uid } = made.body['metadata'] as { readonly uid: string };
    await lab.declare('volumes', 'found', volume, { annotations: { 'mooring.io/uid': uid } });
    await sync('True Synced', 'found', 'volumes');
    await lab.delete('volumes', 'found');
    await sync('False BeingDeleted', 'found', 'volumes');
    await lab.finishDeletions('volumes');
    await until('the end', async () => (await lab.find('volumes', 'found')) === undefined);
  });

  itDeep('changes the size of a volume, and nothing else of it', async () => {
    const volume = { class: 'ephemeral', sizeBytes: 1_073_741_824 };
    const size = async () => (await lab.ask('GET', '/api/v1/dvm/volumes/grown')).body['sizeBytes'];
    await lab.declare('volumes', 'grown', volume);
    await sync('True Synced', 'grown', 'volumes');
    await lab.declare('volumes', 'grown', { ...volume, sizeBytes: 2_147_483_648 });
    await sync('False Refused', 'grown', 'volumes');
    expect(await lab.condition('volumes', 'grown', 'Admitted')).to.equal('False volume_not_ready');
    await lab.finishVolume('grown');
    await sync('True Synced', 'grown', 'volumes');
    expect(await size()).to.equal(2_147_483_648);
    await lab.declare('volumes', 'grown', { ...volume, type: 'tmpfs' });
    await sync('False Immutable', 'grown', 'volumes');
    expect(await size()).to.equal(2_147_483_648);
  });

  itDeep('deletes nothing while Mooring cannot be read', async () => {
    await lab.declare('deployments', 'kept', spec);
    await sync('True Synced', 'kept');
    isMooringDown = true;
    await lab.delete('deployments', 'kept');
    await sync('Unknown MooringUnreadable', 'kept');
    expect((await lab.find('deployments', 'kept'))?.metadata.finalizers).to.deep.equal(['mooring.io/bridge']);
    isMooringDown = false;
    await sync('False BeingDeleted', 'kept');
    await lab.finishDeletions('deployments');
    await until('the end', async () => (await lab.find('deployments', 'kept')) === undefined);
  });

  itDeep('says so when it may read and not write', async () => {
    isMooringReadOnly = true;
    await lab.declare('deployments', 'unwritten', spec);
    await sync('Unknown MooringUnwritable', 'unwritten');
    isMooringReadOnly = false;
    await sync('True Synced', 'unwritten');
  });

  it('mirrors jobs, networks and volumes, changes no job, and makes none again', async () => {
    const job = { image: spec.image, command: ['work'] };
    await lab.declare('jobs', 'work', job);
    await lab.declare('volumes', 'data', { class: 'ephemeral', sizeBytes: 1_073_741_824 });
    await lab.mooring.token({ kind: 'node', tenant: lab.mooring.a, node: `node_${'1'.repeat(26)}`, nodeName: 'one' });
    await lab.declare('networks', 'backend', { internal: true });
    await Promise.all([sync('True Synced', 'work', 'jobs'), sync('True Synced', 'data', 'volumes')]);
    await sync('True Synced', 'backend', 'networks');
    const findOwn = async () => (await lab.find('networks', 'backend'))!.metadata.annotations?.['mooring.io/uid'];
    const first = await findOwn();
    expect((await lab.ask('DELETE', '/api/v1/networks/backend')).status).to.be.lessThan(300);
    await until('another one', async () => ![undefined, first].includes(await findOwn()));
    await sync('True Synced', 'backend', 'networks');
    await lab.delete('networks', 'backend');
    await until('its end', async () => (await lab.ask('GET', '/api/v1/networks/backend')).status === 404);
    await lab.declare('jobs', 'work', { ...job, command: ['more'] });
    await sync('False Immutable', 'work', 'jobs');
    expect((await lab.ask('DELETE', '/api/v1/jobs/work')).status).to.be.lessThan(300);
    await sync('False BeingDeleted', 'work', 'jobs');
    await lab.finishDeletions('jobs');
    await sync('False Gone', 'work', 'jobs');
    await lab.delete('jobs', 'work');
    await until('the end', async () => (await lab.find('jobs', 'work')) === undefined);
  });

  itDeep('goes on where it was when the cluster comes back, and has deleted nothing', async function () {
    this.timeout(300_000);
    const lab = await openLab('away');
    const condition = (name: string, expected: string) =>
      until(`${name} ${expected}`, async () => (await lab.condition('deployments', name, 'Synced')) === expected);
    const uidOf = async (name: string) => ((await lab.ask('GET', at(name))).body['metadata'] as { uid: string }).uid;
    try {
      const deleted: string[] = [];
      const told: string[] = [];
      const hear = (message: string) => void told.push(message);
      const listening: Logger = { error: hear, warn: hear, info: hear, debug: hear, with: () => listening };
      lab.startBridge({ log: listening }, (when, method, path) => {
        if (when === 'before' && method === 'DELETE') deleted.push(path);
      });
      for (const name of ['stays', 'goes']) await lab.declare('deployments', name, spec);
      await Promise.all([condition('stays', 'True Synced'), condition('goes', 'True Synced')]);
      const uids = await Promise.all(['stays', 'goes'].map(uidOf));

      await cluster.kill();
      // Mooring goes on meanwhile: it is put right when the cluster says again what it wants.
      await lab.ask('PUT', at('stays'), { replicas: 7 });
      await until('the lease to be lost', () => told.includes('the bridge does not lead any more'));
      expect(await Promise.all(['stays', 'goes'].map(uidOf))).to.deep.equal(uids);
      expect(deleted).to.deep.equal([]);

      await cluster.restart();
      await until('what the cluster asks for', async () => (await lab.ask('GET', at('stays'))).body['replicas'] === 2);
      await lab.delete('deployments', 'goes');
      await condition('goes', 'False BeingDeleted');
      await lab.finishDeletions('deployments');
      await until('the end', async () => (await lab.find('deployments', 'goes')) === undefined);
      expect(await uidOf('stays')).to.equal(uids[0]);
      expect(deleted.every(path => path.endsWith('/goes'))).to.equal(true);
    } finally {
      await lab.stop();
    }
  });

  it('copies the secrets that are named, and shows no value', async () => {
    for (const name of ['database', 'other']) await lab.declareSecret(name, { password: 'tr0ub4dor&3' });
    await until('the secret', async () => (await lab.ask('GET', '/api/v1/secrets/resources/database')).status === 200);
    expect((await lab.ask('GET', '/api/v1/secrets/resources/database')).body['keys']).to.deep.equal(['password']);
    await lab.declareSecret('database', { password: 'tr0ub4dor&4', user: 'shop' });
    const version = async () => (await lab.ask('GET', '/api/v1/secrets/resources/database')).body['version'];
    await until('the next version', async () => Number(await version()) >= 2);
    await until('the note', async () => (await lab.notes())?.includes('resources.database'));
    expect(JSON.stringify((await lab.ask('GET', '/api/v1/secrets')).body)).to.not.include('other');
    expect(written.join('')).to.include('a secret was copied').and.not.include('tr0ub4dor');
    expect(await lab.notes()).to.not.include('tr0ub4dor');
  });

  itDeep('has one leader among several, and the next one takes over', async () => {
    const lab = await openLab('leaders');
    try {
      const writers: string[] = [];
      const start = (name: string) =>
        // Longer than this process may stand still on a busy machine.
        lab.startBridge({ lease: { namespace: lab.namespace, holder: name, seconds: 15 } }, (when, method, path) => {
          if (when === 'before' && method !== 'GET' && !path.includes('leases')) writers.push(name);
        });
      const first = start('first');
      await lab.declare('deployments', 'a', spec);
      await until('the first', async () => (await lab.condition('deployments', 'a', 'Synced')) === 'True Synced');
      start('second');
      await lab.declare('deployments', 'b', spec);
      await until('the first again', async () => (await lab.condition('deployments', 'b', 'Synced')) === 'True Synced');
      expect([...new Set(writers)]).to.deep.equal(['first']);
      await lab.stopBridge(first);
      await lab.declare('deployments', 'c', spec);
      await until('the second', async () => (await lab.condition('deployments', 'c', 'Synced')) === 'True Synced');
    } finally {
      await lab.stop();
    }
  });

  for (const seed of [1, 2]) {
    itDeep(`leaves nothing behind when it dies that the next one does not repair, by seed ${seed}`, async () => {
      const lab = await openLab(`mortals-${seed}`);
      const random = seededRandom(seed);
      let deaths = 0;
      let isOver = false;
      let ending = Promise.resolve();
      let failure: unknown;
      const replaceDead = async (bridge: KubernetesBridge) => {
        try {
          await lab.stopBridge(bridge);
          await lab.expireLease();
          if (!isOver) startMortal();
        } catch (thrown) {
          failure = thrown;
        }
      };
      const die = async (count: number) => {
        await until(`${count} deaths`, () => failure !== undefined || deaths >= count);
        expect(failure).to.equal(undefined);
      };
      /** A bridge that dies around one of its next writes, and another one after it. */
      const startMortal = () => {
        let left = 1 + Math.floor(random.next() * 9);
        let isDead = false;
        const bridge = lab.startBridge({}, (when, method) => {
          if (!isOver && !isDead && method !== 'GET' && --left <= 0) {
            isDead = true;
            deaths++;
            setImmediate(() => {
              ending = replaceDead(bridge);
            });
          }
          if (isDead) throw new SideUnreadableFault(`dead ${when} ${method}`);
        });
      };
      try {
        startMortal();
        for (const name of ['a', 'b']) await lab.declare('deployments', name, spec);
        await lab.declare('jobs', 'j', { image: spec.image });
        await die(3);
        for (const name of ['a', 'b']) await lab.declare('deployments', name, { ...spec, replicas: 4 });
        await lab.delete('deployments', 'b');
        await die(6);
        isOver = true;
        lab.startBridge();
        const isDone = async () => {
          await lab.finishDeletions('deployments');
          const kept = await lab.ask('GET', at('a'));
          const gone = await lab.ask('GET', at('b'));
          return (
            (await lab.condition('deployments', 'a', 'Synced')) === 'True Synced' &&
            (await lab.condition('jobs', 'j', 'Synced')) === 'True Synced' &&
            kept.body['replicas'] === 4 &&
            (await lab.find('deployments', 'b')) === undefined &&
            gone.status === 404
          );
        };
        await until('both sides to agree', isDone);
        const jobs = (await lab.ask('GET', '/api/v1/jobs')).body['items'];
        expect(jobs).to.have.length(1);
        await ending;
        expect(failure).to.equal(undefined);
      } finally {
        isOver = true;
        await ending;
        await lab.stop();
      }
    });
  }
}
