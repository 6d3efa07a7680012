import type { Secret } from '../../../secrets/index.js';
import { type ContainerSpec, EngineRefusedFault, type ImageLogin } from '../engine.js';
import { NODE_LABEL } from '../ownership-labels.js';
import { quotesSecret } from '../redact.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { LOGIN_KEY } from './pod.js';
import { findSecret, isGated, type Pod } from './pod-status.js';

interface CreatedSecret {
  readonly metadata: { readonly name: string; readonly uid: string };
}

/**
 * The Secrets of Pods: each is made when its Pod exists, belongs to it, and is deleted when the Pod has started. The cluster itself
 * removes the Secret of a Pod that is gone. None is ever read.
 */
export class PodSecrets {
  readonly #api: KubernetesApi;
  /** Pods whose Secret is gone, by uid. */
  readonly #cleared = new Set<string>();
  /** The Secrets that this agent has made, by the uid of their Pod. */
  readonly #made = new Map<string, CreatedSecret['metadata']>();

  constructor(api: KubernetesApi) {
    this.#api = api;
  }

  /** Writes what a Pod that is not started yet needs, in the place of what its creator may have written. */
  async write(pod: Pod, content: SecretContent): Promise<void> {
    const name = findSecret(pod);
    if (name === undefined) return;
    const body = buildSecret(pod, name, content);
    const make = () => this.#api.create<CreatedSecret>('secrets', body);
    try {
      let made = await make();
      if (!made) {
        await this.#delete(pod);
        made = await make();
      }
      if (!made) throw new EngineRefusedFault(409, 'the name of the Secret of the container is taken');
      this.#made.set(pod.metadata.uid, { name: made.metadata.name, uid: made.metadata.uid }); // not its values
    } catch (thrown) {
      const values = Object.values(body.stringData);
      throw thrown instanceof EngineRefusedFault && quotesSecret(thrown.message, values)
        ? new EngineRefusedFault(thrown.status, 'the cluster refused the Secret of the container')
        : thrown;
    }
  }

  /** Deletes the Secret of a Pod that has started, once. */
  async clear(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    if (this.#cleared.has(uid) || isGated(pod)) return;
    if (await this.#delete(pod)) this.#cleared.add(uid);
  }

  /** Deletes the Secret of a Pod that is gone, without waiting for the cluster to do it. */
  async drop(pod: Pod): Promise<void> {
    if (!this.#cleared.delete(pod.metadata.uid)) await this.#delete(pod);
  }

  /** That which was made for the Pod; where an earlier agent made it, that which the Pod names. False when there is none. */
  async #delete(pod: Pod): Promise<boolean> {
    const made = this.#made.get(pod.metadata.uid);
    const name = made?.name ?? findSecret(pod);
    if (name === undefined) return false;
    const body = made && { preconditions: { uid: made.uid } };
    // 409: another has the name.
    await this.#api.call('DELETE', await this.#api.path(`secrets/${name}`), { body, expected: [404, 409] });
    this.#made.delete(pod.metadata.uid);
    return true;
  }
}

export interface SecretContent {
  readonly secrets?: ReadonlyMap<string, Secret> | undefined;
  readonly login?: (ImageLogin & { readonly host: string }) | undefined;
}

/** Whether a container needs a Secret at all. */
export function needsSecret({ secrets }: Pick<ContainerSpec, 'secrets'>, login: ImageLogin | undefined): boolean {
  return (secrets?.size ?? 0) > 0 || login !== undefined;
}

/** The only place where secret values are written out. */
function buildSecret({ metadata: { name: pod, uid, labels } }: Pod, name: string, { secrets, login }: SecretContent) {
  const values = [...(secrets ?? [])].map(([variable, secret]) => [variable, secret.reveal()] as const);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      labels: { [NODE_LABEL]: labels?.[NODE_LABEL] ?? '', 'app.kubernetes.io/managed-by': 'mooring' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod, uid }],
    },
    type: login ? 'kubernetes.io/dockerconfigjson' : 'Opaque',
    stringData: Object.fromEntries([...values, ...(login ? [[LOGIN_KEY, formatLogin(login)] as const] : [])]),
  };
}

function formatLogin({ host, username, password }: NonNullable<SecretContent['login']>): string {
  const auth = Buffer.from(`${username}:${password.reveal()}`).toString('base64');
  return JSON.stringify({ auths: { [host]: { auth } } });
}
