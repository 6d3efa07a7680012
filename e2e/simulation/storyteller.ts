import { keys, ranges } from '../../crds/keys/index.js';
import { computeTemplateHash } from '../../crds/replica/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { VolumeStatus } from '../../crds/volume/index.js';
import { type SimCluster, TENANTS } from './cluster.js';
import type { Answer } from './front.js';
import type { History } from './history.js';
import { put } from './users.js';
import type { VolumeWatch } from './volume-watch.js';
import { askForVolume, consumerForm } from './volumes.js';

const WITHIN_MS = 90_000;
const LOOK_MS = 500;
const ANSWER_MS = 20;

/** What a story is told with. */
export interface StoryParts {
  readonly cluster: SimCluster;
  readonly history: History;
  readonly watch: VolumeWatch;
  readonly inspect: () => void;
}

/** Has one user do one thing after the other, and waits for each. What must hold meanwhile is inspected all the while. */
export class Storyteller {
  readonly parts: StoryParts;
  /** The one with the most machines. */
  readonly tenant: string;
  #orders = 0;

  constructor(parts: StoryParts) {
    this.parts = parts;
    const count = (tenant: string) => parts.history.entries(ranges.of(ranges.nodes, tenant)).length;
    this.tenant = TENANTS.toSorted((one, other) => count(other) - count(one))[0]!;
  }

  async create(name: string, form: object = {}): Promise<string> {
    const answer = await this.hear(askForVolume(this.parts.cluster, this.tenant, name, form));
    const { id } = demand(answer, `volume ${name}`) as { readonly id: string };
    await this.until(() => this.status(id)?.phase === 'Ready', 'a volume is made');
    return id;
  }

  status(id: string): VolumeStatus | undefined {
    return this.parts.history.get<VolumeStatus>(keys.volumeStatus(this.tenant, id));
  }

  find(name: string): StoredDeployment | undefined {
    return this.parts.history.get<StoredDeployment>(keys.deployment(this.tenant, name));
  }

  rollout(name: string): RolloutRecord | undefined {
    return this.parts.history.get<RolloutRecord>(keys.rollout(this.tenant, name));
  }

  isComplete(name: string): boolean {
    const { completed, progress } = this.rollout(name) ?? {};
    return completed !== undefined && progress === undefined;
  }

  async say(name: string, kind: 'create' | 'change', spec: Readonly<Record<string, unknown>>): Promise<void> {
    demand(await this.ask(name, kind, spec), `${kind} ${name}`);
  }

  ask(name: string, kind: 'create' | 'change', spec: Readonly<Record<string, unknown>>): Promise<Answer> {
    const op = this.nextOp();
    const about = kind === 'create' ? { ...consumerForm, ...spec, labels: { op } } : { ...spec, labels: { op } };
    return this.hear(put(this.parts.cluster, { op, kind, tenant: this.tenant, name, spec: about }));
  }

  /** The answer, for which time has to pass. */
  async hear(asked: Promise<Answer>): Promise<Answer> {
    const heard: Answer[] = [];
    void asked.then(answer => heard.push(answer));
    await this.until(() => heard.length > 0, 'an answer', { everyMs: ANSWER_MS });
    return heard[0]!;
  }

  nextOp(): string {
    return `story-${++this.#orders}`;
  }

  /** Whether the one replica of a deployment runs, and no other. */
  runs(name: string): boolean {
    const deployment = this.find(name);
    const containers = this.parts.cluster.machines
      .flatMap(({ engine }) => engine.containers)
      .filter(({ owner }) => owner.deploymentUid === deployment?.metadata.uid);
    const [only] = containers;
    if (!deployment || containers.length !== 1) return false;
    return only?.state === 'running' && only.owner.templateHash === computeTemplateHash(deployment);
  }

  pass(ms: number): Promise<void> {
    return this.parts.cluster.world.pass(ms, this.parts.inspect);
  }

  async until(
    isSo: () => boolean | Promise<boolean>,
    what: string | (() => string),
    { everyMs = LOOK_MS, withinMs = WITHIN_MS } = {},
  ): Promise<void> {
    const { world } = this.parts.cluster;
    for (const from = world.time; !(await isSo()); await this.pass(everyMs)) {
      if (world.time - from <= withinMs) continue;
      throw new Error(`${typeof what === 'string' ? what : what()}: not within ${withinMs} ms`);
    }
  }
}

function demand(answer: Answer, what: string): Readonly<Record<string, unknown>> {
  if (answer.told === 'stored') return answer.body;
  throw new Error(`${what} was ${answer.told} ${answer.told === 'refused' ? answer.code : ''}`);
}
