import { Type } from 'typebox';

import { parseCpu, parseMemory } from '../grammar/index.js';
import { annotate, createBodyCheck } from '../rule/index.js';

/** What of a tenant's things is counted. `cpu` is in thousandths of a core, `memory` and `volumeBytes` in bytes. */
export const quotaKinds = [
  'deployments',
  'containers',
  'cpu',
  'memory',
  'volumes',
  'volumeBytes',
  'nodes',
  'jobs',
  'networks',
  'secrets',
  'backups',
] as const;

export type QuotaKind = (typeof quotaKinds)[number];

/** How much one tenant may have. What is left out has no limit. A reached quota stops nothing that is there. */
export type TenantQuotas = { readonly [Kind in QuotaKind]?: number };

/** What the platform has settled for one tenant: null lifts a limit that the configuration sets. */
export type QuotaOverrides = { readonly [Kind in QuotaKind]?: number | null };

/** What a tenant may have when nobody has settled anything. */
export const defaultQuotas: TenantQuotas = {
  deployments: 200,
  containers: 1000,
  volumes: 100,
  volumeBytes: 2 ** 40,
  nodes: 100,
  jobs: 200,
  networks: 50,
  secrets: 500,
  backups: 500,
};

/** The amount that a text means for one kind, in the units that are stored. Undefined when it means none. */
export function parseQuota(kind: QuotaKind, text: string): number | undefined {
  if (kind === 'cpu') return parseCpu(text);
  if (kind === 'memory' || kind === 'volumeBytes') return parseMemory(text);
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** What holds for a tenant: its own where the platform has set it, the configured otherwise. */
export function mergeQuotas(configured: TenantQuotas, own?: QuotaOverrides): TenantQuotas {
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
  {
    deployments: limit,
    containers: limit,
    cpu: limit,
    memory: limit,
    volumes: limit,
    volumeBytes: limit,
    nodes: limit,
    jobs: limit,
    networks: limit,
    secrets: limit,
    backups: limit,
  },
  { additionalProperties: false },
);

/** Checks `PUT /api/v1/tenants/{tenant}/quotas`. */
export const checkQuotaRequest = createBodyCheck(quotaRequestSchema);
