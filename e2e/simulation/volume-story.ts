import { keys, ranges } from '../../crds/keys/index.js';
import { computeTemplateHash } from '../../crds/replica/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredVolume, VolumeStatus } from '../../crds/volume/index.js';
import { BAD_IMAGE, type SimCluster, TENANTS } from './cluster.js';
import type { Answer } from './front.js';
import type { History } from './history.js';
import { put } from './users.js';
import { listMountUsers } from './volume-invariants.js';
import type { VolumeWatch } from './volume-watch.js';
import { consumerForm, askForVolume, mountAt, rebootWithoutDisk, removeVolume, stopFirst } from './volumes.js';

const OWNER = 'vault';
const HEIR = 'heir';
const WITHIN_MS = 90_000;
/** Long enough for a node to be lost, and then for a claim about its volumes to be wrong for too long. */
const LOST_AFTER_MS = 30_000;
const AGENT_AWAY_MS = 36_000;
const DISK_AWAY_MS = 64_000;
const CONTESTS = 4;
const LOOK_MS = 500;
const ANSWER_MS = 20;

/** What the story is told with. */
export interface StoryParts {
  readonly cluster: SimCluster;
  readonly history: History;
  readonly watch: VolumeWatch;
  readonly inspect: () => void;
}

/**
 * While nothing else goes wrong: a volume is made and written to; its machine comes up late and without its disk, while its writer is
 * updated; its writer gives it up for a version that fails, and another one takes it over before that is rolled back; a second
 * volume is deleted by one and mounted by another user. What must hold meanwhile is inspected all the while.
 */
export class VolumeStory {
  readonly #parts: StoryParts;
  readonly #tenant: string;
  #orders = 0;

  constructor(parts: StoryParts) {
    this.#parts = parts;
    const count = (tenant: string) => parts.history.entries(ranges.of(ranges.nodes, tenant)).length;
    this.#tenant = TENANTS.toSorted((one, other) => count(other) - count(one))[0]!;
  }

  async tell(): Promise<void> {
    const id = await this.#create('kept');
    const volumes = [mountAt(id, false)];
    await this.#say(OWNER, 'create', { image: 'registry.test/vault:1', replicas: 1, volumes, rollout: stopFirst });
    await this.#until(() => this.#parts.watch.countWritten(id) > 0, 'a volume is written to');
    await this.#until(() => this.#isComplete(OWNER), 'a rollout is complete');
    await this.#loseDisk(id);
    await this.#inherit(id);
    await this.#contest();
  }

  /** The version that is to come must wait for the container of the one before, which nobody can ask about. */
  async #loseDisk(id: string): Promise<void> {
    const { cluster, history, watch } = this.#parts;
    const { primaryNode = '' } = this.#status(id) ?? {};
    const machine = cluster.machines.find(({ name }) => name === history.node(primaryNode)?.name)!;
    rebootWithoutDisk(cluster, machine, { agentAfterMs: AGENT_AWAY_MS, diskAfterMs: DISK_AWAY_MS });
    await this.#pass(LOST_AFTER_MS);
    await this.#say(OWNER, 'change', { image: 'registry.test/vault:2' });
    await this.#pass(DISK_AWAY_MS - LOST_AFTER_MS);
    const written = watch.countWritten(id);
    await this.#until(
      () => this.#runs(OWNER) && watch.countWritten(id) > written,
      'a volume that is back is written to',
    );
    await this.#until(() => this.#isComplete(OWNER), 'a rollout is complete');
  }

  /** A version without the volume fails after another deployment has begun to write to it. */
  async #inherit(id: string): Promise<void> {
    await this.#say(OWNER, 'change', { image: `registry.test/vault${BAD_IMAGE}`, volumes: [] });
    const spec = { image: 'registry.test/heir:1', replicas: 1, volumes: [mountAt(id, false)] };
    await this.#until(async () => (await this.#ask(HEIR, 'create', spec)).told === 'stored', 'a volume is free again');
    await this.#until(() => this.#runs(HEIR), 'a volume that was free is mounted');
    const { generation } = this.#find(OWNER)!.metadata;
    await this.#until(() => this.#rollout(OWNER)?.failed?.revision === generation, 'a rollout has failed');
    await this.#say(OWNER, 'change', { image: 'registry.test/vault:3' });
  }

  async #contest(): Promise<void> {
    const { cluster, history } = this.#parts;
    const id = await this.#create('spare');
    const find = () => history.get<StoredVolume>(keys.volume(this.#tenant, id));
    const volume = find()!;
    for (let turn = 0; turn < CONTESTS; turn++) {
      const op = this.#nextOp();
      const spec = { labels: { op }, volumes: [mountAt(id, true)] };
      void removeVolume(cluster, volume);
      void put(cluster, { op, kind: 'change', tenant: this.#tenant, name: OWNER, spec });
      await this.#pass(3_000);
      if (find()?.metadata.deletedAt !== undefined || !find()) break;
      await this.#say(OWNER, 'change', { volumes: [] });
      await this.#until(() => listMountUsers(this.#tenant, id, history).length === 0, 'a volume is given up');
    }
    if (find()) void removeVolume(cluster, volume);
    await this.#until(() => !find(), 'a volume is deleted');
  }

  async #create(name: string): Promise<string> {
    const answer = await this.#hear(askForVolume(this.#parts.cluster, this.#tenant, name));
    const { id } = demand(answer, `volume ${name}`) as { readonly id: string };
    await this.#until(() => this.#status(id)?.phase === 'Ready', 'a volume is made');
    return id;
  }

  #status(id: string): VolumeStatus | undefined {
    return this.#parts.history.get<VolumeStatus>(keys.volumeStatus(this.#tenant, id));
  }

  #find(name: string): StoredDeployment | undefined {
    return this.#parts.history.get<StoredDeployment>(keys.deployment(this.#tenant, name));
  }

  #rollout(name: string): RolloutRecord | undefined {
    return this.#parts.history.get<RolloutRecord>(keys.rollout(this.#tenant, name));
  }

  #isComplete(name: string): boolean {
    const { completed, progress } = this.#rollout(name) ?? {};
    return completed !== undefined && progress === undefined;
  }

  async #say(name: string, kind: 'create' | 'change', spec: Readonly<Record<string, unknown>>): Promise<void> {
    demand(await this.#ask(name, kind, spec), `${kind} ${name}`);
  }

  #ask(name: string, kind: 'create' | 'change', spec: Readonly<Record<string, unknown>>): Promise<Answer> {
    const op = this.#nextOp();
    const about = kind === 'create' ? { ...consumerForm, ...spec, labels: { op } } : { ...spec, labels: { op } };
    return this.#hear(put(this.#parts.cluster, { op, kind, tenant: this.#tenant, name, spec: about }));
  }

  /** The answer, for which time has to pass. */
  async #hear(asked: Promise<Answer>): Promise<Answer> {
    const heard: Answer[] = [];
    void asked.then(answer => heard.push(answer));
    await this.#until(() => heard.length > 0, 'an answer', ANSWER_MS);
    return heard[0]!;
  }

  #nextOp(): string {
    return `story-${++this.#orders}`;
  }

  /** Whether the one replica of a deployment runs, and no other. */
  #runs(name: string): boolean {
    const deployment = this.#find(name);
    const containers = this.#parts.cluster.machines
      .flatMap(({ engine }) => engine.containers)
      .filter(({ owner }) => owner.deploymentUid === deployment?.metadata.uid);
    const [only] = containers;
    if (!deployment || containers.length !== 1) return false;
    return only?.state === 'running' && only.owner.templateHash === computeTemplateHash(deployment);
  }

  #pass(ms: number): Promise<void> {
    return this.#parts.cluster.world.pass(ms, this.#parts.inspect);
  }

  async #until(isSo: () => boolean | Promise<boolean>, what: string, everyMs = LOOK_MS): Promise<void> {
    const { world } = this.#parts.cluster;
    for (const from = world.time; !(await isSo()); await this.#pass(everyMs)) {
      if (world.time - from > WITHIN_MS) throw new Error(`${what}: not within ${WITHIN_MS} ms`);
    }
  }
}

function demand(answer: Answer, what: string): Readonly<Record<string, unknown>> {
  if (answer.told === 'stored') return answer.body;
  throw new Error(`${what} was ${answer.told} ${answer.told === 'refused' ? answer.code : ''}`);
}
