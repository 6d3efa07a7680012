import type { Replica } from '../../../crds/replica/index.js';
import type { PullCredential } from '../../link/index.js';
import { type Engine, ImagePullFault, type OnPullProgress } from '../engine/index.js';
import type { PulledImages } from './pulled-images.js';

export interface PullParts {
  readonly engine: Engine;
  readonly images: PulledImages;
  /** Fetches the tenant's login with a ticket. */
  readonly fetchLogin: (replica: Replica) => Promise<PullCredential>;
  readonly onProgress: OnPullProgress;
}

/**
 * Pulls the image of a replica: without a login of the tenant, then, where the registry denies or hides it, with the one that
 * the control plane hands over for this pull. It is kept nowhere.
 */
export async function pullImage(replica: Replica, parts: PullParts): Promise<void> {
  const { engine, images, fetchLogin, onProgress } = parts;
  const { image } = replica.template;
  const { nodeId } = replica;
  try {
    await engine.pull(image, undefined, onProgress, nodeId);
  } catch (thrown) {
    const isDenied =
      thrown instanceof ImagePullFault && (thrown.failure === 'denied' || thrown.failure === 'not_found');
    if (!isDenied) throw thrown;
    await pullAsTenant(parts, replica, await fetchLogin(replica), thrown);
  }
  const id = await engine.findImage(image);
  if (id !== undefined) await images.add(image, id);
}

async function pullAsTenant(
  { engine, onProgress }: PullParts,
  { template: { image }, nodeId }: Replica,
  login: PullCredential,
  before: ImagePullFault,
): Promise<void> {
  const { secret } = login;
  if (login.kind === 'none') {
    throw before.failure === 'denied' ? new ImagePullFault('login_required', { secret, cause: before.cause }) : before;
  }
  try {
    await engine.pull(image, login, onProgress, nodeId);
  } catch (thrown) {
    if (!(thrown instanceof ImagePullFault) || thrown.failure !== 'denied') throw thrown;
    throw new ImagePullFault('credential_refused', { secret, cause: thrown.cause });
  }
}
