import { type Clock, sleep } from '../../../clock/index.js';
import { EngineRefusedFault } from '../engine.js';
import { NODE_LABEL } from '../ownership-labels.js';
import type { KubernetesApi } from './kubernetes-api.js';
import type { Pod } from './pod-status.js';

const POLL = { firstMs: 50, capMs: 1_000 };
const REMOVED_WITHIN_MS = 60_000;
const DELETION_GRACE_S = 1;
const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';

/** The Pods of one namespace, found by their uid: a Pod of the same name that came later is another one. */
export class Pods {
  readonly #api: KubernetesApi;
  readonly #clock: Clock;
  /** The name of each Pod, by uid. */
  readonly #names = new Map<string, string>();

  constructor(api: KubernetesApi, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  async list(labelSelector: string): Promise<readonly Pod[]> {
    const pods = await this.#api.list<Pod>('pods', labelSelector);
    for (const pod of pods) this.#names.set(pod.metadata.uid, pod.metadata.name);
    return pods;
  }

  findByName(name: string): Promise<Pod | undefined> {
    return this.#api.find<Pod>('pods', name);
  }

  async find(uid: string): Promise<Pod | undefined> {
    const name = this.#names.get(uid);
    if (name === undefined) return (await this.list(NODE_LABEL)).find(({ metadata }) => metadata.uid === uid);
    const pod = await this.findByName(name);
    if (pod?.metadata.uid === uid) return pod;
    this.#names.delete(uid);
    return undefined;
  }

  /** Undefined when the name is taken. */
  async create(pod: object): Promise<Pod | undefined> {
    const made = await this.#api.create<Pod>('pods', pod);
    if (made) this.#names.set(made.metadata.uid, made.metadata.name);
    return made;
  }

  /** Lets the cluster schedule a Pod. One that it schedules already, or that is gone, stays as it is. */
  async ungate({ metadata: { name, uid } }: Pod): Promise<void> {
    const path = await this.#api.path(`pods/${name}`);
    const body = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'remove', path: '/spec/schedulingGates' },
    ];
    await this.#api.call('PATCH', path, { body, type: JSON_PATCH, expected: [404, 409, 422] });
  }

  /** Has the kubelet end a Pod, which stays with its exit code and its log. */
  async end({ metadata: { name, uid } }: Pod): Promise<void> {
    const path = await this.#api.path(`pods/${name}`);
    const body = { metadata: { uid }, spec: { activeDeadlineSeconds: 1 } };
    await this.#api.call('PATCH', path, { body, type: MERGE_PATCH, expected: [404, 409] });
  }

  /** Has the cluster end and delete a Pod. */
  async delete({ metadata: { name, uid } }: Pod): Promise<void> {
    const path = await this.#api.path(`pods/${name}`);
    const body = { preconditions: { uid }, gracePeriodSeconds: DELETION_GRACE_S };
    await this.#api.call('DELETE', path, { body, expected: [404, 409] }); // 409: another has the name
  }

  /** Deletes a Pod and waits until it is gone: a kubelet may still run what it is made of. */
  async remove(pod: Pod): Promise<void> {
    const { name, uid } = pod.metadata;
    await this.delete(pod);
    const isGone = async () => (await this.findByName(name))?.metadata.uid !== uid;
    if (!(await this.wait(isGone, DELETION_GRACE_S * 1000 + REMOVED_WITHIN_MS))) {
      throw new EngineRefusedFault(409, 'the cluster has not removed the Pod yet; its node may not answer');
    }
    this.#names.delete(uid);
  }

  /** Asks again and again. False when the time is over. */
  async wait(holds: () => Promise<boolean>, withinMs: number): Promise<boolean> {
    const until = this.#clock.monotonic() + withinMs;
    for (let ms = POLL.firstMs; ; ms = Math.min(ms * 1.5, POLL.capMs)) {
      if (await holds()) return true;
      if (this.#clock.monotonic() >= until) return false;
      await sleep(this.#clock, ms);
    }
  }
}
