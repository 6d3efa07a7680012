import { keys } from '../../crds/keys/index.js';
import type { StoredVolume } from '../../crds/volume/index.js';
import { BAD_IMAGE } from './cluster.js';
import { Storyteller } from './storyteller.js';
import { put } from './users.js';
import { listMountUsers } from './volume-invariants.js';
import { mountAt, rebootWithoutDisk, removeVolume, stopFirst } from './volumes.js';

const OWNER = 'vault';
const HEIR = 'heir';
/** Long enough for a node to be lost, and then for a claim about its volumes to be wrong for too long. */
const LOST_AFTER_MS = 30_000;
const AGENT_AWAY_MS = 36_000;
const DISK_AWAY_MS = 64_000;
const CONTESTS = 4;

/**
 * While nothing else goes wrong: a volume is made and written to; its machine comes up late and without its disk, while its writer is
 * updated; its writer gives it up for a version that fails, and another one takes it over before that is rolled back; a second
 * volume is deleted by one and mounted by another user. What must hold meanwhile is inspected all the while.
 */
export class VolumeStory extends Storyteller {
  async tell(): Promise<void> {
    const id = await this.create('kept');
    const volumes = [mountAt(id, false)];
    await this.say(OWNER, 'create', { image: 'registry.test/vault:1', replicas: 1, volumes, rollout: stopFirst });
    await this.until(() => this.parts.watch.countWritten(id) > 0, 'a volume is written to');
    await this.until(() => this.isComplete(OWNER), 'a rollout is complete');
    await this.#loseDisk(id);
    await this.#inherit(id);
    await this.#contest();
  }

  /** The version that is to come must wait for the container of the one before, which nobody can ask about. */
  async #loseDisk(id: string): Promise<void> {
    const { cluster, history, watch } = this.parts;
    const { primaryNode = '' } = this.status(id) ?? {};
    const machine = cluster.machines.find(({ name }) => name === history.node(primaryNode)?.name)!;
    rebootWithoutDisk(cluster, machine, { agentAfterMs: AGENT_AWAY_MS, diskAfterMs: DISK_AWAY_MS });
    await this.pass(LOST_AFTER_MS);
    await this.say(OWNER, 'change', { image: 'registry.test/vault:2' });
    await this.pass(DISK_AWAY_MS - LOST_AFTER_MS);
    const written = watch.countWritten(id);
    await this.until(() => this.runs(OWNER) && watch.countWritten(id) > written, 'a volume that is back is written to');
    await this.until(() => this.isComplete(OWNER), 'a rollout is complete');
  }

  /** A version without the volume fails after another deployment has begun to write to it. */
  async #inherit(id: string): Promise<void> {
    await this.say(OWNER, 'change', { image: `registry.test/vault${BAD_IMAGE}`, volumes: [] });
    const spec = { image: 'registry.test/heir:1', replicas: 1, volumes: [mountAt(id, false)] };
    await this.until(async () => (await this.ask(HEIR, 'create', spec)).told === 'stored', 'a volume is free again');
    await this.until(() => this.runs(HEIR), 'a volume that was free is mounted');
    const { generation } = this.find(OWNER)!.metadata;
    await this.until(() => this.rollout(OWNER)?.failed?.revision === generation, 'a rollout has failed');
    await this.say(OWNER, 'change', { image: 'registry.test/vault:3' });
  }

  async #contest(): Promise<void> {
    const { cluster, history } = this.parts;
    const id = await this.create('spare');
    const find = () => history.get<StoredVolume>(keys.volume(this.tenant, id));
    const volume = find()!;
    for (let turn = 0; turn < CONTESTS; turn++) {
      const op = this.nextOp();
      const spec = { labels: { op }, volumes: [mountAt(id, true)] };
      void removeVolume(cluster, volume);
      void put(cluster, { op, kind: 'change', tenant: this.tenant, name: OWNER, spec });
      await this.pass(3_000);
      if (find()?.metadata.deletedAt !== undefined || !find()) break;
      await this.say(OWNER, 'change', { volumes: [] });
      await this.until(() => listMountUsers(this.tenant, id, history).length === 0, 'a volume is given up');
    }
    if (find()) void removeVolume(cluster, volume);
    await this.until(() => !find(), 'a volume is deleted');
  }
}
