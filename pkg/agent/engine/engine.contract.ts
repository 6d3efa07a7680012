import { inspect } from 'node:util';

import { expect } from 'chai';

import { Secret } from '../../secrets/index.js';
import {
  type ContainerLogOptions,
  type ContainerSpec,
  type ContainerStatus,
  type Engine,
  type EngineEvent,
  EngineRefusedFault,
  EngineUnreachableFault,
  ImageMissingFault,
  ImagePullFault,
  type LogEntry,
  NameConflictFault,
  type Ownership,
} from './engine.js';

/** One engine to put to the test. */
export interface EngineUnderTest {
  readonly engine: Engine;
  /** An image that the registry gives and the engine does not hold yet. */
  readonly image: string;
  readonly absentImage: string;
  /** Takes the engine away until it is brought back. Its containers may stop meanwhile. */
  away(): Promise<void>;
  back(): Promise<void>;
  /** Lets time pass: real time for a real engine. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const CANARY = 'canary-of-an-environment';
const TENANT = '0b0f7a0e-0000-4000-8000-000000000001';

const owner = (change: Partial<Ownership> = {}): Ownership => ({
  nodeId: 'node_1',
  tenant: TENANT,
  deployment: 'web',
  deploymentUid: 'dep_1',
  replica: 'rep_1',
  slot: 0,
  generation: 1,
  templateHash: 'h1',
  ...change,
});

/** What every driver promises. */
export function engineContract(name: string, open: () => Promise<EngineUnderTest>): void {
  describe(`engine contract: ${name}`, function () {
    let under: EngineUnderTest;
    let engine: Engine;

    before(async () => {
      under = await open();
      engine = under.engine;
    });

    after(() => under?.close());

    afterEach(async () => {
      for (const node of ['node_1', 'node_2']) {
        for (const { id } of await engine.list(node)) await engine.remove(id);
      }
    });

    const order = (change: Partial<ContainerSpec> = {}): ContainerSpec => ({
      name: 'web',
      image: under.image,
      environment: { MODE: 'test' },
      ports: [],
      network: `mooring-${TENANT}`,
      alias: 'web',
      owner: owner(),
      ...change,
    });

    const run = async (change: Partial<ContainerSpec> = {}): Promise<string> => {
      const id = await engine.create(order(change));
      await engine.start(id);
      return id;
    };

    const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
      call.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );

    const until = async (holds: () => Promise<boolean>): Promise<void> => {
      for (let turn = 0; turn < 150; turn++) {
        if (await holds()) return;
        await under.pass(200);
      }
      expect.fail('it did not come about');
    };

    it('reports a missing image, and pulls it', async () => {
      expect(await thrownBy(engine.create(order()))).to.be.instanceOf(ImageMissingFault);
      await engine.pull(under.image);
      await engine.pull(under.image);

      expect(await engine.create(order())).to.be.a('string');
    });

    it('reports whether an image is present', async () => {
      expect(await engine.findImage(under.absentImage)).to.equal(undefined);
      expect(await engine.findImage(under.image)).to.be.a('string');
    });

    it('reports that the registry does not have an image', async () => {
      expect(await thrownBy(engine.pull(under.absentImage))).to.be.instanceOf(ImagePullFault);
    });

    it('reports cpu, memory and version', async () => {
      const { cpu, memory } = await engine.facts();

      expect(cpu).to.be.at.least(1000);
      expect(memory).to.be.at.least(2 ** 20);
    });

    it('shows a container with its owner from creation to removal', async () => {
      const states: (ContainerStatus['state'] | undefined)[] = [];
      const look = async (id: string) => states.push((await engine.inspect(id))?.state);

      const id = await engine.create(order());
      await look(id);
      await engine.start(id);
      await look(id);
      const [listed] = await engine.list('node_1');
      expect(listed).to.deep.include({ id, name: 'web', owner: owner() });
      await engine.stop(id, 1);
      await look(id);
      expect((await engine.inspect(id))?.exitCode).to.be.a('number');
      await engine.remove(id);
      await look(id);

      expect(states).to.deep.equal(['created', 'running', 'exited', undefined]);
      expect(await engine.list('node_1')).to.deep.equal([]);
    });

    it('never returns the values of environment variables', async () => {
      const secrets = new Map([['DB_password', new Secret(CANARY)]]);
      const id = await run({ environment: { MODE: CANARY }, secrets });
      const told = [await engine.inspect(id), ...(await engine.list('node_1')), await engine.facts()];

      expect(told).to.have.length(3);
      expect(told[0]).to.have.all.keys('id', 'name', 'owner', 'state', 'health', 'exitCode', 'user', 'startedAt');
      expect(inspect(told, { depth: null, showHidden: true, getters: true })).not.to.match(/canary|MODE|DB_password/);
    });

    it('accepts every call twice', async () => {
      const id = await engine.create(order());
      expect(await engine.create(order())).to.equal(id);
      await engine.start(id);
      await engine.start(id);
      await engine.stop(id, 1);
      await engine.stop(id, 1);
      await engine.remove(id);
      await engine.remove(id);
      await engine.stop(id, 1);
    });

    it('starts a stopped container again, or refuses to where it starts each once', async () => {
      const id = await run();
      await engine.stop(id, 1);
      if (engine.startsOnce) {
        expect(await thrownBy(engine.start(id))).to.be.instanceOf(EngineRefusedFault);
        return;
      }
      await engine.start(id);

      expect((await engine.inspect(id))?.state).to.equal('running');
    });

    it('lists only the containers of the given node', async () => {
      await run({ name: 'other-web', owner: owner({ nodeId: 'node_2', replica: 'rep_2' }) });

      expect(await engine.list('node_1')).to.deep.equal([]);
      expect(await engine.list('node_2')).to.have.length(1);
    });

    it('names the nodes that have containers of a tenant, and those of no other tenant', async () => {
      await run();
      await run({ name: 'other-web', owner: owner({ nodeId: 'node_2', replica: 'rep_2' }) });

      expect([...(await engine.listNodeIds(TENANT))].toSorted()).to.deep.equal(['node_1', 'node_2']);
      expect(await engine.listNodeIds('0b0f7a0e-0000-4000-8000-00000000000f')).to.deep.equal([]);
    });

    it('replaces the container of an older replica of the slot', async () => {
      const old = await run();
      const id = await run({ owner: owner({ replica: 'rep_2', generation: 2 }) });

      expect(await engine.inspect(old)).to.equal(undefined);
      expect((await engine.inspect(id))?.state).to.equal('running');
    });

    it('leaves a foreign container of the same name alone', async () => {
      const id = await run({ owner: owner({ nodeId: 'node_2' }) });

      expect(await thrownBy(engine.create(order()))).to.be.instanceOf(NameConflictFault);
      expect((await engine.inspect(id))?.state).to.equal('running');
    });

    it('reports the health of a container', async () => {
      const healthCheck = { type: 'exec', command: ['true'], interval: '1s', timeout: '10s', retries: 3 } as const;
      const id = await run({ healthCheck });

      expect((await engine.inspect(id))?.health).to.equal('starting');
      await until(async () => (await engine.inspect(id))?.health === 'healthy');
    });

    it("reports `everything` first, then events of this node's containers", async () => {
      const told: (EngineEvent | 'everything')[] = [];
      const end = new AbortController();
      const following = engine.events('node_1', event => told.push(event), end.signal);
      await until(async () => told.length > 0);
      await run({ name: 'other-web', owner: owner({ nodeId: 'node_2', replica: 'rep_2' }) });
      await run();
      await until(async () => told.length >= 3);
      end.abort();
      await following;

      expect(told[0]).to.equal('everything');
      expect(new Set(told.slice(1).map(event => (event as EngineEvent).replica))).to.deep.equal(new Set(['rep_1']));
    });

    it('returns the output of a container', async () => {
      const id = await run();
      const read = async () => {
        let text = '';
        for await (const { bytes } of engine.logs(id, { tail: 10 }, new AbortController().signal)) {
          text += bytes.toString();
        }
        return text;
      };

      await until(async () => (await read()).endsWith('\n'));
    });

    it('gives entries with their time, the last ones only, or those since a time', async () => {
      const id = await run();
      const read = async (options: ContainerLogOptions) => {
        const entries: LogEntry[] = [];
        for await (const entry of engine.logs(id, options, new AbortController().signal)) entries.push(entry);
        return entries;
      };
      await until(async () => (await read({})).length > 0);
      await engine.stop(id, 1);
      const all = await read({});
      expect(all.every(({ at }) => /^\d{10}\.\d{9}$/.test(at))).to.equal(true);
      expect(await read({ tail: 1 })).to.deep.equal(all.slice(-1));
      expect(await read({ since: all.at(-1)!.at })).to.deep.equal(all.filter(({ at }) => at >= all.at(-1)!.at));
      expect(await read({ since: '9999999999.000000000' })).to.deep.equal([]);
    });

    it('counts the cpu time of a container up, and knows nothing of one that does not run', async () => {
      const id = await run();
      const first = await engine.readUsage(id);
      expect(first?.cpuNanos).to.be.at.least(0);
      expect(first?.memory).to.be.at.least(0);
      await under.pass(1_100);
      const second = await engine.readUsage(id);
      expect(second!.cpuNanos, 'it is counted since the start').to.be.at.least(first!.cpuNanos);
      expect(second).to.have.all.keys('cpuNanos', 'memory');
      await engine.stop(id, 1);
      expect(await engine.readUsage(id)).to.equal(undefined);
      await engine.remove(id);
      expect(await engine.readUsage(id)).to.equal(undefined);
    });

    it('throws EngineUnreachableFault while it is down, and keeps its containers', async () => {
      const id = await run();
      const told: (EngineEvent | 'everything')[] = [];
      const end = new AbortController();
      const following = engine.events('node_1', event => told.push(event), end.signal);
      await until(async () => told.includes('everything'));
      await under.away();
      expect(await thrownBy(engine.list('node_1'))).to.be.instanceOf(EngineUnreachableFault);
      expect(await thrownBy(engine.inspect(id))).to.be.instanceOf(EngineUnreachableFault);
      await under.back();
      await until(async () => told.filter(event => event === 'everything').length >= 2);
      end.abort();
      await following;

      expect((await engine.list('node_1')).map(seen => seen.id)).to.deep.equal([id]);
      await engine.start(id);
      expect((await engine.inspect(id))?.state).to.equal('running');
    });
  });
}
