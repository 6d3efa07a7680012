import type { PlainCode } from '../../crds/rejections/index.js';
import type { EnvironmentAnswer } from './deliver-environment.js';

const REFUSALS = {
  not_own: { status: 403, code: 'environment_not_own' },
  ticket_invalid: { status: 409, code: 'delivery_ticket_invalid' },
  ticket_used: { status: 409, code: 'delivery_ticket_used' },
} as const;

/** The code that an agent hears instead of secrets. */
export function environmentRefusal(answer: Exclude<EnvironmentAnswer, { readonly kind: 'ready' }>): {
  readonly status: number;
  readonly code: PlainCode;
} {
  if (answer.kind !== 'unresolved') return REFUSALS[answer.kind];
  return answer.reason === 'secret_store_unavailable'
    ? { status: 503, code: 'secret_store_unavailable' }
    : { status: 409, code: 'secrets_unresolved' };
}
