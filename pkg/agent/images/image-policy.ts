import type { Clock } from '../../clock/index.js';
import { type HostResolver, PullPolicy, type RegistryRules } from '../../registry/index.js';
import { ImagePullFault } from '../engine/index.js';

const RESOLVE_WITHIN_MS = 5_000;
/** Without a policy from the control plane: every registry that has public addresses only. */
const PUBLIC_REGISTRIES: RegistryRules = { allow: [], insecure: [], default: '' };

export interface ImageUse {
  readonly image: string;
  /** Whether the registry is about to be contacted, so that its addresses count too. */
  readonly isPull: boolean;
}

/**
 * Throws when the image may not be used here. One that is present may have been pulled under another policy, so it is
 * checked before each new container too.
 */
export async function demandImageAllowed(
  { clock, resolve }: { readonly clock: Clock; readonly resolve?: HostResolver },
  rules: RegistryRules = PUBLIC_REGISTRIES,
  { image, isPull }: ImageUse,
): Promise<void> {
  const policy = new PullPolicy(rules, resolve);
  const deadline = new AbortController();
  const cancel = clock.after(RESOLVE_WITHIN_MS, () => deadline.abort());
  try {
    const refused = isPull ? await policy.checkPull(image, deadline.signal) : policy.checkImage(image);
    if (refused !== undefined) throw new ImagePullFault(refused === 'unknown_host' ? 'unreachable' : refused);
  } finally {
    cancel();
  }
}
