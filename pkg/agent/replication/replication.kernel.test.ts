import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { sampleCases, skip, toScriptArguments, until } from '../../../dev/testing/index.js';
import { createDirectoryDisk } from '../disk.js';
import { type Lab, listTree, MIB, openLab } from '../volumes/driver-lab.testing.js';
import { explainNoBtrfs } from '../volumes/open-driver.js';
import { CutLink } from './cut-link.testing.js';
import { ASIDE, LabNode, V } from './replication-lab.testing.js';

const missing = await explainNoBtrfs();

/** How a script loads a module that is named as from here. */
const load = (path: string) => `await import(${JSON.stringify(new URL(path, import.meta.url).href)})`;

/** One end in a process of its own, which is killed at a failpoint. It prints its address. */
const SCRIPT = `
  const { choice, root, state, nodeId, key, role, peers, sizeBytes, change } = JSON.parse(process.argv[1]);
  const { createPrivateKey } = await import('node:crypto');
  const { openVolumeDriver } = ${load('../volumes/index.js')};
  const { createDirectoryDisk } = ${load('../disk.js')};
  const { LabNode } = ${load('./replication-lab.testing.js')};
  const { systemClock } = ${load('../../clock/index.js')};
  const driver = await openVolumeDriver(choice, { clock: systemClock, root, reserveBytes: 0, keepRemovedMs: 0 });
  await driver.recover();
  const node = await LabNode.open(nodeId, driver, { key: createPrivateKey(key), disk: createDirectoryDisk(state), sizeBytes });
  await node.assign(role, 1, peers, change);
  console.log(node.peers.address);
  setInterval(() => undefined, 1000);
`;

for (const choice of ['directory', 'btrfs'] as const) {
  const lacks = choice === 'btrfs' ? missing : undefined;
  describe(`replication of volumes of the driver ${choice}`, () => {
    const sizeBytes = choice === 'btrfs' ? 256 * MIB : 64 * MIB;
    const change = { intervalSeconds: choice === 'btrfs' ? 0.2 : 0.02 };
    let labs: readonly [Lab, Lab];
    let nodes: LabNode[];
    before(function () {
      if (lacks !== undefined) skip(this, lacks);
    });
    beforeEach(async () => {
      labs = [await openLab(choice), await openLab(choice)];
      nodes = [];
    });
    afterEach(async () => {
      for (const node of nodes) await node.close();
      for (const lab of labs) await lab.close();
    });

    const start = async (at: 0 | 1, options: Parameters<typeof LabNode.open>[2] = {}) => {
      const node = await LabNode.open(at === 0 ? 'node_a' : 'node_b', labs[at].driver, { sizeBytes, ...options });
      nodes.push(node);
      return node;
    };
    const rootOf = (at: 0 | 1) => labs[at].driver.mountPoint(V);
    /** What is on the disk counts, and not what is only in memory. */
    const write = async (name: string, content: string | Buffer) =>
      writeFileSync(join(await rootOf(0), name), content, { flush: true });
    /** Promotes the copy on B, and compares. */
    const isCopied = async (b: LabNode, a: LabNode) => {
      await b.assign('primary', 9, [a.asPeer]);
      expect(listTree(await rootOf(1))).to.equal(listTree(await rootOf(0)));
    };
    const synced = async (a: LabNode, volume: Awaited<ReturnType<LabNode['assign']>>) => {
      const before = new Date().toISOString();
      await until('the copy is as new', async () => {
        const [copy] = (await a.replication.describe(volume)).copies ?? [];
        return (copy?.syncedAt ?? '') >= before;
      });
    };

    it('makes a whole copy, then sends what differs, and both keep one snapshot', async () => {
      const [a, b] = [await start(0), await start(1)];
      await b.assign('replica', 1, [a.asPeer]);
      const volume = await a.assign('primary', 1, [b.asPeer], change);
      mkdirSync(join(await rootOf(0), 'folder'));
      await write('folder/first', randomBytes(3 * MIB));
      await synced(a, volume);
      await write('second', randomBytes(3 * MIB));
      rmSync(join(await rootOf(0), 'folder/first'));
      await write('third', 'small');
      await synced(a, volume);
      await until('one snapshot each', async () => {
        const held = await Promise.all(labs.map(({ driver }) => driver.listSnapshots(V)));
        return held.every(names => names.length === 1) && held[0]![0] === held[1]![0];
      });
      await isCopied(b, a);
    });

    it('goes on with a whole copy that was cut, and with a difference, and sends little again', async () => {
      const [a, b] = [await start(0), await start(1)];
      const link = await CutLink.to(b.asPeer.address!);
      try {
        await labs[0].driver.materialise({ id: V, sizeBytes });
        for (const name of ['first', 'second', 'third']) await write(name, randomBytes(4 * MIB));
        link.cuts.push(5 * MIB, 4 * MIB);
        await b.assign('replica', 1, [a.asPeer]);
        const volume = await a.assign('primary', 1, [{ ...b.asPeer, address: link.address }], change);
        await synced(a, volume);
        const countSent = () => link.passed.reduce((sum, bytes) => sum + bytes);
        const whole = countSent();
        expect(link.passed.length).to.be.at.least(3);
        expect(whole).to.be.within(12 * MIB, 15 * MIB);
        link.cuts.push(5 * MIB);
        for (const name of ['fourth', 'fifth']) await write(name, randomBytes(4 * MIB));
        await synced(a, volume);
        expect(countSent() - whole).to.be.below(10 * MIB);
        await isCopied(b, a);
      } finally {
        link.close();
      }
    });

    it('is removed at once while it waits for the rest of a transfer', async () => {
      const [a, b] = [await start(0), await start(1)];
      const link = await CutLink.to(b.asPeer.address!);
      try {
        await labs[0].driver.materialise({ id: V, sizeBytes });
        await write('first', randomBytes(6 * MIB));
        link.cuts.push(4 * MIB, ...Array.from({ length: 9 }, () => 1));
        await b.assign('replica', 1, [a.asPeer]);
        await a.assign('primary', 1, [{ ...b.asPeer, address: link.address }], change);
        await until('it was cut', () => (link.passed[0] ?? 0) >= 4 * MIB);
        await labs[1].driver.remove(V);
        expect(await labs[1].driver.list()).to.deep.equal([]);
      } finally {
        link.close();
      }
    });

    const kills: readonly (readonly [point: string, side: 0 | 1])[] = [
      ['volume.snapshot_taken', 0],
      ['volume.final_taken', 0],
      ['volume.sending', 0],
      ['volume.received', 1],
      ['volume.accepted', 1],
      ['volume.synced', 1],
    ];
    for (const [point, side] of sampleCases(4, kills)) {
      it(`goes on after the ${side === 0 ? 'sender' : 'receiver'} was killed at ${point}`, async () => {
        const keys = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey] as const;
        await labs[0].driver.materialise({ id: V, sizeBytes });
        await write('first', randomBytes(3 * MIB));
        const other = side === 0 ? 1 : 0;
        const state = join(labs[side].root, '../state');
        const survivor = await start(other, { key: keys[other] });
        const killed = await start(side, { key: keys[side] });
        const { asPeer } = killed;
        await killed.close();
        nodes.splice(nodes.indexOf(killed), 1);
        const config = {
          choice,
          root: labs[side].root,
          nodeId: asPeer.nodeId,
          key: keys[side].export({ type: 'pkcs8', format: 'pem' }),
          state,
          change: point === 'volume.final_taken' ? { ...change, finalFor: 2 } : change,
          role: side === 0 ? 'primary' : 'replica',
          peers: [survivor.asPeer],
          sizeBytes,
        };
        if (side === 0) await survivor.assign('replica', 1, [asPeer]);
        const child = spawn(process.execPath, toScriptArguments(SCRIPT, JSON.stringify(config)), {
          env: { ...process.env, MOORING_FAILPOINTS: `${point}=kill` },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        const closed = once(child, 'close');
        let printed = '';
        child.stderr.on('data', text => (printed += String(text)));
        child.stdout.once('data', address => {
          const peer = { ...asPeer, address: String(address).trim() };
          if (side === 1) void survivor.assign('primary', 1, [peer], change);
        });
        const [, signal] = (await closed) as [number, string];
        expect(signal, printed).to.equal('SIGKILL');

        await labs[side].driver.recover();
        const back = await start(side, { key: keys[side], disk: createDirectoryDisk(state) });
        const [a, b] = side === 0 ? [back, survivor] : [survivor, back];
        await b.assign('replica', 1, [a.asPeer]);
        const volume = await a.assign('primary', 1, [b.asPeer], change);
        await write('second', 'after the kill');
        await synced(a, volume);
        await isCopied(b, a);
        expect(readFileSync(join(await rootOf(1), 'second'), 'utf8')).to.equal('after the kill');
      });
    }

    it('gives a former primary its volume back with every byte when nobody has taken over', async () => {
      const [a, b] = [await start(0), await start(1)];
      await b.assign('replica', 1, [a.asPeer]);
      const volume = await a.assign('primary', 1, [b.asPeer], change);
      await write('file', 'both');
      await synced(a, volume);
      await write('file', 'alone');
      await a.assign('replica', 2, [b.asPeer]);
      await b.assign('replica', 3, [a.asPeer]);
      const back = await a.assign('primary', 3, [b.asPeer], change);
      expect(readFileSync(join(await rootOf(0), 'file'), 'utf8')).to.equal('alone');
      await synced(a, back);
      await until('nothing is kept twice', async () => !(await labs[0].driver.listSnapshots(V)).includes(ASIDE));
      await isCopied(b, a);
    });

    it('sets nothing aside on a node that was promoted and passed over before anything was written', async () => {
      const [a, b] = [await start(0), await start(1)];
      await b.assign('replica', 1, [a.asPeer]);
      const volume = await a.assign('primary', 1, [b.asPeer], change);
      await write('file', 'both');
      await synced(a, volume);
      await a.assign('replica', 2, [b.asPeer]);
      await b.assign('primary', 2, []);
      const back = await a.assign('primary', 3, [b.asPeer], change);
      const replica = await b.assign('replica', 3, [a.asPeer]);
      expect(await b.replication.describe(replica)).to.not.have.property('divergent');
      await write('file', 'more');
      await synced(a, back);
      await isCopied(b, a);
    });

    it('sets aside what a former primary had alone', async () => {
      const [a, b] = [await start(0), await start(1)];
      await b.assign('replica', 1, [a.asPeer]);
      const volume = await a.assign('primary', 1, [b.asPeer], change);
      await write('file', 'both');
      await synced(a, volume);
      await b.assign('primary', 2, [a.asPeer], change);
      await write('file', 'alone');
      const replica = await a.assign('replica', 2, [b.asPeer]);
      writeFileSync(join(await rootOf(1), 'file'), 'promoted', { flush: true });
      const { divergent } = await a.replication.describe(replica);
      expect(divergent?.map(({ name }) => name)).to.deep.equal([ASIDE]);
      await until('a copy on A', async () => {
        const { syncedEpoch } = await a.replication.describe(replica);
        return syncedEpoch === 2;
      });
      await labs[0].driver.promote(V, ASIDE);
      expect(readFileSync(join(await rootOf(0), 'file'), 'utf8')).to.equal('alone');
    });
  });
}
