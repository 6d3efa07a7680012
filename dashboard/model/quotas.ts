import { formatBytes, formatCores } from '../../crds/grammar/index.js';

/** `GET /api/v1/tenants/{tenant}/quotas`. */
export interface QuotasView {
  readonly quotas: Readonly<Record<string, QuotaView>>;
}

interface QuotaView {
  /** Null: there is none. */
  readonly limit: number | null;
  readonly used: number;
  /** Who has set it: `tenant` or `configuration`. */
  readonly set: string;
}

/** One quota as it is shown. */
export interface QuotaRow {
  readonly name: string;
  readonly used: string;
  readonly limit: string;
  readonly setBy: string;
  /** Undefined where there is no limit. */
  readonly percent: number | undefined;
}

/** The quotas, the fullest first; those without a limit last. */
export function listQuotas({ quotas }: QuotasView): readonly QuotaRow[] {
  const rows = Object.entries(quotas).map(([name, { limit, used, set }]): QuotaRow => {
    const share = limit === null ? undefined : limit === 0 ? 100 : Math.min(100, Math.round((used / limit) * 100));
    return {
      name,
      used: formatQuotaAmount(name, used),
      limit: limit === null ? 'none' : formatQuotaAmount(name, limit),
      setBy: set === 'tenant' ? 'the platform, for this tenant' : 'the configuration',
      percent: share,
    };
  });
  return rows.toSorted((a, b) => (b.percent ?? -1) - (a.percent ?? -1) || (a.name < b.name ? -1 : 1));
}

function formatQuotaAmount(name: string, amount: number): string {
  if (name === 'cpu') return `${formatCores(amount)} ${amount === 1000 ? 'core' : 'cores'}`;
  return name === 'memory' || name.endsWith('Bytes') ? formatBytes(amount) : String(amount);
}
