import { refusal } from '../../../crds/scheduling/index.js';
import type { Filter } from '../filter.js';

/** Wants the tenant's quotas to allow one replica more. It is the same for every node. */
export const quota: Filter = {
  name: 'quota',
  refuse: (_node, { quotas }, { placed }) => {
    const short = quotas.filter(({ limit, used, asked }) => asked > 0 && used + (placed + 1) * asked > limit);
    if (short.length === 0) return undefined;
    return refusal(
      'quota',
      short.map(({ kind, limit }) => `at most ${limit} ${kind}`).join(', '),
      short.map(({ kind, used, asked }) => `${used + placed * asked} ${kind}`).join(', '),
    );
  },
};
