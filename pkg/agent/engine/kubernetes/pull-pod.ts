import type { Clock, Random } from '../../../clock/index.js';
import { toPullFault } from '../docker/pull-failure.js';
import type { ImageLogin } from '../engine.js';
import { NODE_LABEL } from '../ownership-labels.js';
import { buildPod, MAIN } from './pod.js';
import { type PodSecrets, needsSecret } from './pod-secrets.js';
import { findImageId, type Pod, readStart } from './pod-status.js';
import type { Pods } from './pods.js';

/** On Pods whose only purpose is to have an image pulled. */
const PULL_LABEL = 'mooring.io/pull';
const PULL_WITHIN_S = 900;
const LEFT_AFTER_MS = 2 * PULL_WITHIN_S * 1000;
/** No image has it: what counts is that the kubelet gets so far as to look for it. */
const NO_PROGRAM = '/mooring-pulls-only';

export interface PullPodParts {
  readonly pods: Pods;
  readonly secrets: PodSecrets;
  readonly clock: Clock;
  readonly random: Random;
}

interface PullOrder {
  readonly image: string;
  readonly login: ImageLogin | undefined;
  readonly onProgress: (() => void) | undefined;
  /** The node that pulls: its next agent removes what this one may leave. */
  readonly nodeId: string | undefined;
}

/** Has the cluster get images. Kubernetes pulls them for Pods only, so a Pod is made whose program does not exist, and is removed again. */
export class PullPods {
  readonly #parts: PullPodParts;
  /** The names of the Pods of pulls that are under way here. */
  readonly #underWay = new Set<string>();
  /** When Pods of other pulls were seen first, by uid. */
  #seen: ReadonlyMap<string, number> = new Map();

  constructor(parts: PullPodParts) {
    this.#parts = parts;
  }

  /** Answers the id of the image. */
  async pull({ image, login, onProgress, nodeId }: PullOrder): Promise<string> {
    await this.#removeOld();
    const { pods, secrets, random } = this.#parts;
    const name = `mooring-pull-${random.bytes(8).toString('hex')}`;
    this.#underWay.add(name);
    try {
      const pod = await pods.create(buildPullPod(name, { image, nodeId, hasLogin: needsSecret({}, login) }));
      if (!pod) throw toPullFault('the name of the Pod is taken');
      try {
        const [host = ''] = image.split('/');
        await secrets.write(pod, { ...(login && { login: { ...login, host } }) });
        await pods.ungate(pod);
        return await waitForImage(pods, pod, image, onProgress);
      } finally {
        await pods.remove(pod);
        await secrets.drop(pod);
      }
    } finally {
      this.#underWay.delete(name);
    }
  }

  /** Removes what a pull of the same node has left. What fails is tried again with the next list of its Pods. */
  async removeLeft(pod: Pod): Promise<void> {
    if (!isPullPod(pod) || this.#underWay.has(pod.metadata.name)) return;
    const { pods, secrets } = this.#parts;
    await pods.delete(pod).catch(() => undefined);
    await secrets.drop(pod).catch(() => undefined);
  }

  /** Removes what agents have left that came back no more: no pull lasts so long. */
  async #removeOld(): Promise<void> {
    const now = this.#parts.clock.monotonic();
    const found = await this.#parts.pods.list(PULL_LABEL);
    this.#seen = new Map(found.map(({ metadata: { uid } }) => [uid, this.#seen.get(uid) ?? now]));
    for (const pod of found) {
      if (now - this.#seen.get(pod.metadata.uid)! > LEFT_AFTER_MS) await this.removeLeft(pod);
    }
  }
}

export function isPullPod({ metadata }: Pod): boolean {
  return metadata.labels?.[PULL_LABEL] !== undefined;
}

async function waitForImage(pods: Pods, { metadata }: Pod, image: string, onProgress: (() => void) | undefined) {
  let found: string | undefined;
  let last = '';
  await pods.wait(async () => {
    const pod = await pods.findByName(metadata.name);
    if (!pod) throw toPullFault('the Pod that pulls it was removed');
    found = findImageId(pod, image);
    const start = readStart(pod);
    if (!found && start.kind === 'refused' && start.isImage) throw toPullFault(start.message);
    if (!found && start.kind === 'started') throw toPullFault(pod.status?.message ?? '');
    if (start.kind === 'waiting') last = start.message;
    onProgress?.();
    return found !== undefined;
  }, PULL_WITHIN_S * 1000);
  if (found === undefined) throw toPullFault(`timed out: ${last}`);
  return found;
}

interface PullPodOptions extends Pick<PullOrder, 'image' | 'nodeId'> {
  readonly hasLogin: boolean;
}

function buildPullPod(name: string, { image, nodeId, hasLogin }: PullPodOptions) {
  const owner = { nodeId: '', tenant: '', deployment: '', deploymentUid: '', replica: '', slot: 0, generation: 0 };
  const built = buildPod(
    {
      name,
      image,
      entrypoint: [NO_PROGRAM],
      environment: {},
      ports: [],
      user: '65534',
      limits: { cpu: 10, memory: 2 ** 25 },
      network: '',
      alias: 'pull',
      owner: { ...owner, templateHash: '' },
    },
    { graceSeconds: 1, hasLogin, ...(hasLogin && { secret: name }) },
  );
  const labels = {
    [PULL_LABEL]: MAIN,
    ...(nodeId !== undefined && { [NODE_LABEL]: nodeId }),
    'app.kubernetes.io/managed-by': 'mooring',
  };
  return {
    ...built,
    metadata: { ...built.metadata, labels },
    spec: { ...built.spec, activeDeadlineSeconds: PULL_WITHIN_S },
  };
}
