import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { explainNoBtrfs } from '../../pkg/agent/volumes/open-driver.js';
import { createCanary } from '../lab/canary.js';
import { RestoreLab } from '../lab/restore-lab.js';
import { unwrap } from '../lab/tenant-client.js';

/** How often the story is told; each time everything before it has been restored already. */
const RUNS = Number(process.env['MOORING_RESTORE_RUNS'] ?? 1);
const PATIENCE_MS = 240_000;
const LOCAL = { class: 'ephemeral', sizeBytes: 64 * 2 ** 20 };

describe('an older state of etcd, on real engines with volumes and copies', () => {
  let lab: RestoreLab;
  let image: string;

  before(async () => {
    lab = await RestoreLab.start((await explainNoBtrfs()) === undefined ? 'btrfs' : 'directory');
    image = await lab.fleet.image('1');
  });
  after(() => lab?.stop());

  const isCopied = (node: string) => (volume: Awaited<ReturnType<RestoreLab['findVolume']>>) =>
    volume.replicas.some(({ nodeName, state }) => nodeName === node && state === 'synced');
  const write = async (id: string, text: string) =>
    expect(await lab.fleet.view.succeeds(id, `echo ${text} > /data/file && sync`)).to.equal(true);

  /** The order to remove the copy on shop-2 is in the backup, and by now that is the primary, with the newest bytes. */
  const tellLeaving = async (run: number) => {
    const name = `data-${run}`;
    const [, machine] = lab.machines;
    const { id } = await lab.makeVolume(name, { class: 'replicated', replicas: 1 });
    await lab.volumeBecomes(name, 'copied', isCopied('shop-2'));
    await write(await lab.serve(`db-${run}`, image, id), `first-${run}`);
    await machine.agent.kill('SIGKILL');
    const given = await lab.moor('volumes', 'replicas', 'remove', name, 'shop-2', '--force');
    expect(given.status, given.stderr).to.equal(0);
    await lab.volumeBecomes(name, 'without a copy', ({ replicas }) => replicas.length === 0);
    const gone = await lab.makeVolume(`gone-${run}`, LOCAL);
    await write(await lab.serve(`former-${run}`, image, gone.id), `gone-${run}`);
    const backup = await lab.backUp(`${run}.db`);

    machine.agent.start();
    await until('the former copy to be removed', () => lab.findFolders(id).length === 1, PATIENCE_MS);
    const added = await lab.moor('volumes', 'replicas', 'add', name, 'shop-2');
    expect(added.status, added.stderr).to.equal(0);
    await lab.volumeBecomes(name, 'copied again', isCopied('shop-2'));
    const moved = await lab.moor('volume', 'move', name, '--to', 'shop-2', '--timeout', '4m');
    expect(moved.status, moved.stderr).to.equal(0);
    await lab.shop.reaches(`db-${run}`, 'Running');
    await write(await lab.only(`db-${run}`), `newest-${run}`);
    return { backup, id };
  };

  const answers = (run: number) => {
    const hasAnswered = async () => {
      const nodes = await lab.nodes();
      const going = nodes.flatMap(({ setBack }) => setBack?.containers ?? []);
      return nodes.every(({ setBack }) => setBack) && going.includes(`unknown-${run}/0`);
    };
    return until('every node to have told what would go', hasAnswered, PATIENCE_MS);
  };

  /** As an operator does it: looks, declares that, and looks again where it has changed. Answers what was declared. */
  const declareShown = async (): Promise<readonly string[]> => {
    const declared: string[] = [];
    const look = async () => {
      const nodes = await lab.nodes();
      if (nodes.every(({ hasAnswered, setBack }) => hasAnswered && !setBack)) return true;
      const { stdout } = await lab.restore('--preview');
      const [, digest] = /--confirm ([0-9a-f]{16})$/m.exec(stdout) ?? [];
      if (digest !== undefined && (await lab.restore('--confirm', digest)).status === 0) declared.push(stdout);
      return false;
    };
    await until('the agents to do again what they are told', look, PATIENCE_MS);
    return declared;
  };

  it('names the credential that was rotated after the backup, and what is run is given the valid one', async () => {
    const path = 'deployments/web-db';
    const write = async (password: string) =>
      unwrap(await lab.shop.client.request('PUT', `/api/v1/secrets/${path}`, { body: { values: { password } } }));
    const [former, valid] = [createCanary('former'), createCanary('valid')];
    await write(former.value);
    await lab.shop.apply({
      name: 'web',
      image,
      replicas: 1,
      secrets: [{ name: 'DB', vault_path: path, anchor: 'process' }],
    });
    await lab.shop.reaches('web', 'Running');
    const backup = await lab.backUp('rotated.db');
    await write(valid.value);
    const first = await lab.only('web');
    const restarted = await lab.moor('restart', 'web');
    expect(restarted.status, restarted.stderr).to.equal(0);
    const given = async () => {
      const running = await lab.fleet.view.running('web');
      const variables = await Promise.all(running.map(({ id }) => lab.fleet.view.environment(id)));
      return variables.map(each => Object.values(each)).filter(values => values.includes(valid.value)).length;
    };
    await until('the container to be replaced', async () => (await lab.only('web')) !== first, PATIENCE_MS);
    expect(await given()).to.equal(1);
    await lab.shop.reaches('web', 'Running');

    await lab.setBack(backup);
    const hasAnswered = async () => (await lab.nodes()).every(({ setBack }) => setBack);
    await until('every node to have told what would go', hasAnswered, PATIENCE_MS);
    const lost = await lab.restore('--preview');
    expect(lost.stdout).to.contain(`${path} (version 2, etcd has 1)`).and.to.contain('moor secrets write');
    for (const { value } of [former, valid]) expect(lost.stdout).not.to.contain(value);
    await write(valid.value);
    expect((await lab.moor('restart', 'web')).status).to.equal(0);
    const written = async () => (await lab.nodes()).every(({ secrets }) => secrets.length === 0);
    await until('nothing to be lost any more', written, PATIENCE_MS);
    expect(await given(), 'what runs meanwhile').to.equal(1);

    await declareShown();
    await lab.shop.reaches('web', 'Running', PATIENCE_MS);
    await until(
      'what runs to have the valid credential',
      async () => (await given()) === (await lab.fleet.view.running('web')).length,
      PATIENCE_MS,
    );
    expect(await given()).to.equal(1);
    await lab.shop.remove('web');
  });

  for (let run = 1; run <= RUNS; run++) {
    it(`removes nothing before it is declared, and then what was shown, ${run}`, async () => {
      const { backup, id } = await tellLeaving(run);
      await lab.shop.remove(`former-${run}`);
      await lab.removeVolume(`gone-${run}`);
      const later = await lab.makeVolume(`later-${run}`, LOCAL);
      await write(await lab.serve(`unknown-${run}`, image, later.id), `later-${run}`);
      const known = await lab.listContainers();
      const bytes = async () => [
        lab.findFolders(id),
        await lab.findBytes(id, `newest-${run}`),
        await lab.findBytes(later.id, `later-${run}`),
      ];
      const written = await bytes();
      expect(written.at(-1)).to.deep.equal(['shop-1']);
      expect(written[1]).to.include('shop-2');
      const expectKept = async (when: string) => {
        const kept = await bytes();
        for (const [at, names] of written.entries()) expect(kept[at], `bytes ${when}`).to.include.members([...names]);
      };

      await lab.setBack(backup);
      await answers(run);
      await lab.restartHolding();
      await answers(run);
      const held = await lab.listContainers();
      expect(
        [...known.keys()].filter(each => !held.has(each)),
        'containers that went',
      ).to.deep.equal([]);
      await expectKept('before it is declared');

      const shown = (await declareShown()).join('\n');
      expect(listShown(shown, 'containers that')).to.include(`unknown-${run}/0`);
      expect(listShown(shown, 'volumes that are newer')).to.include(`data-${run}`);
      expect(listShown(shown, 'volumes that etcd does not have')).to.include(later.id);
      const isGone = async () => (await lab.fleet.view.running(`unknown-${run}`)).length === 0;
      await until('what etcd does not know to go', isGone, PATIENCE_MS);
      const after = await lab.listContainers();
      const went = [...known].flatMap(([each, name]) => (after.has(each) ? [] : [name]));
      const unshown = went.filter(name => !listShown(shown, 'containers that').includes(name));
      expect(unshown, 'containers that went and were not shown').to.deep.equal([]);
      await expectKept('after it was declared');
      await lab.volumeBecomes(`data-${run}`, 'said to be behind', ({ reason }) => reason === 'volume_epoch_behind');
    });
  }
});

function listShown(preview: string, kind: string): readonly string[] {
  const lines = preview.split('\n').filter(line => line.startsWith(`  ${kind} `));
  return lines.flatMap(line => line.split(': ')[1]!.split(', '));
}
