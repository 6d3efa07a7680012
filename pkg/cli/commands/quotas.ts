import { formatQuota, type QuotaKind } from '../../../crds/kinds/index.js';
import { exitCode } from '../../terminal/index.js';
import { tenants } from '../kinds.js';
import { formatTable } from '../print/table.js';
import { formatDocument, type OutputFormat } from '../print/text.js';
import type { Command } from '../session.js';

interface QuotasInput {
  readonly output: OutputFormat;
  /** An administrator looks at this tenant; undefined: the tenant of the token that is used. */
  readonly tenant: string | undefined;
}

interface QuotasView {
  readonly tenant: string;
  readonly quotas: Readonly<Record<QuotaKind, Limit>>;
}

interface Limit {
  /** Null: there is none. */
  readonly limit: number | null;
  readonly used: number;
  readonly set: string;
}

/** Shows what a tenant may have, and how much of it is used. */
export const quotas: Command<QuotasInput> = async (session, { output, tenant }) => {
  const { terminal, ink } = session;
  const client = await session.connect(tenant === undefined ? 'tenant' : 'platform');
  const answer = await client.request<QuotasView>('GET', `${tenants.path}/self/quotas`);
  if (!answer.ok) return session.reportRejection(answer);
  if (output === 'json' || output === 'yaml') {
    terminal.out(await formatDocument(answer.value, output));
    return exitCode.ok;
  }
  const kinds = Object.entries(answer.value.quotas) as [QuotaKind, Limit][];
  if (output === 'name') {
    terminal.out(kinds.map(([kind]) => `quota/${kind}\n`).join(''));
    return exitCode.ok;
  }
  const rows = kinds.map(([kind, { limit, used, set }]) => [
    kind,
    { text: formatQuota(kind, used), ...(limit !== null && used >= limit && used > 0 && { paint: ink.red }) },
    limit === null ? 'none' : formatQuota(kind, limit),
    limit === null ? '-' : formatQuota(kind, Math.max(0, limit - used)),
    set,
  ]);
  terminal.out(formatTable(['QUOTA', 'USED', 'LIMIT', 'LEFT', 'SET BY'], rows, terminal.width));
  return exitCode.ok;
};
