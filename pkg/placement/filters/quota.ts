import { formatAmount } from '../../../crds/grammar/index.js';
import type { Filter } from '../filter.js';
import type { Surroundings } from '../surroundings.js';
import type { QuotaUse } from '../workload.js';

/** Wants the tenant's quotas to allow one replica more. It is the same for every node. */
export const quota: Filter = {
  name: 'quota',
  accepts: (_node, { quotas }, around) => quotas.every(use => isKept(use, around)),
  words: (_node, { quotas }, around) => {
    const short = quotas.filter(use => !isKept(use, around));
    return [
      short.map(({ kind, limit }) => `at most ${formatAmount(kind, limit)}`).join(', '),
      short.map(({ kind, used, asked }) => formatAmount(kind, used + around.placed * asked)).join(', '),
    ];
  },
};

function isKept({ limit, used, asked }: QuotaUse, { placed }: Surroundings): boolean {
  return asked === 0 || used + (placed + 1) * asked <= limit;
}
