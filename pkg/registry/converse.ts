import { authorise } from './authorise.js';
import type { CredentialAnswer } from './credentials.js';
import type { ImageLocation } from './image-location.js';
import type { Line } from './line.js';
import { askChallenges, askManifest } from './manifest.js';
import { type ImageCheck, unreachable } from './outcome.js';
import type { RegistryPolicy } from './policy.js';

/** What a conversation with a registry needs to know. */
export interface Conversation {
  readonly policy: RegistryPolicy;
  readonly location: ImageLocation;
  /** The tenant's own credential for this registry, looked up when it is first wanted. */
  readonly credential: () => Promise<CredentialAnswer>;
}

/**
 * Finds out whether a registry has an image: first as a stranger, then, where that is not enough, as the tenant.
 *
 * A registry may deny to strangers what it has, so an absence is believed only when the tenant's credential has been used, or
 * there is none.
 */
export async function converse(line: Line, conversation: Conversation): Promise<ImageCheck> {
  const { location, credential } = conversation;
  const first = await askManifest(line, location);
  if ('outcome' in first && first.outcome !== 'absent') return first;

  const known = await credential();
  if ('challenges' in first) return asTenant(line, conversation, known, first.challenges);
  if (known.kind === 'none') return first;
  if (known.kind === 'unavailable') return { outcome: 'credential_store_unavailable' };

  const challenges = await askChallenges(line, location);
  return challenges.length === 0 ? first : asTenant(line, conversation, known, challenges);
}

async function asTenant(
  line: Line,
  { policy, location }: Conversation,
  known: CredentialAnswer,
  challenges: Parameters<typeof authorise>[2],
): Promise<ImageCheck> {
  const visitor = { policy, location, ...(known.kind === 'found' && { credential: known.credential }) };
  const authorization = await authorise(line, visitor, challenges);
  const second = typeof authorization === 'string' ? await askManifest(line, location, authorization) : authorization;
  const check = 'challenges' in second ? unreachable('denied') : second;
  return known.kind === 'unavailable' && mightDiffer(check) ? { outcome: 'credential_store_unavailable' } : check;
}

/** Whether the tenant's credential, if it has one, could have led to another answer. */
function mightDiffer(check: ImageCheck): boolean {
  return check.outcome === 'absent' || (check.outcome === 'unreachable' && check.reason === 'denied');
}
