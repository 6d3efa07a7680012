import { Type } from 'typebox';

import { formatBytes, formatCores, parseCpu, parseMemory } from '../grammar/index.js';
import type { Kind, Quota } from '../kind/index.js';
import { annotate, createBodyCheck } from '../rule/index.js';
import { kinds } from './list.js';

type KnownQuotas = Extract<(typeof kinds)[number], { readonly quotas: object }>['quotas'];

/** What of a tenant's objects is counted, by the names that the descriptors of the kinds give. */
export type QuotaKind = KnownQuotas extends infer Quotas ? (Quotas extends object ? keyof Quotas : never) : never;

/** How much one tenant may have. What is left out has no limit. A reached quota stops nothing that exists already. */
export type TenantQuotas = { readonly [Name in QuotaKind]?: number };

const all = kinds.flatMap((kind: Kind) => Object.entries(kind.quotas ?? {})) as readonly (readonly [
  QuotaKind,
  Quota,
])[];
const quotas = Object.fromEntries(all) as Readonly<Record<QuotaKind, Quota>>;

/** Every quota. `cpu` is in thousandths of a core, `memory`, `volumeBytes` and `backupBytes` are in bytes. */
export const quotaKinds: readonly QuotaKind[] = all.map(([name]) => name);

/** What a tenant may have when neither configuration nor platform sets anything else. */
export const defaultQuotas: TenantQuotas = Object.fromEntries(
  all.flatMap(([name, { default: limit }]) => (limit === undefined ? [] : [[name, limit]])),
);

/** The ranges whose records are counted, each with its quota. */
export function listCountedRanges(known: readonly Kind[] = kinds): readonly (readonly [range: string, QuotaKind])[] {
  return known.flatMap(({ range, quotas: own = {} }) =>
    Object.entries(own).flatMap(([name, { countsRecords }]) =>
      countsRecords && range !== undefined ? [[range, name as QuotaKind] as const] : [],
    ),
  );
}

/** The amount that a text means for one quota, in the units that are stored. Undefined when it means none. */
export function parseQuota(name: QuotaKind, text: string): number | undefined {
  const { unit } = quotas[name];
  if (unit === 'cores') return parseCpu(text);
  if (unit === 'bytes') return parseMemory(text);
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** An amount of one quota, for people. */
export function formatQuota(name: QuotaKind, amount: number): string {
  const { unit } = quotas[name];
  if (unit === 'cores') return formatCores(amount);
  return unit === 'bytes' ? formatBytes(amount) : String(amount);
}

/** What holds for a tenant: its own where the platform has set it (null lifts a limit), the configured otherwise. */
export function mergeQuotas(configured: TenantQuotas, own?: Readonly<Record<string, number | null>>): TenantQuotas {
  if (!own) return configured;
  const merged = { ...configured, ...own };
  return Object.fromEntries(Object.entries(merged).filter(([, limit]) => limit !== null && limit !== undefined));
}

const limit = Type.Optional(
  Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    ...annotate({ 'x-expected': 'a whole number, or null for no limit' }),
  }),
);

/** `PUT /api/v1/tenants/{tenant}/quotas`. */
export const quotaRequestSchema = Type.Object(
  Object.fromEntries(quotaKinds.map(name => [name, limit])) as Record<QuotaKind, typeof limit>,
  { additionalProperties: false },
);

/** Checks `PUT /api/v1/tenants/{tenant}/quotas`. */
export const checkQuotaRequest = createBodyCheck(quotaRequestSchema);
