import { formatBytes, formatCores } from '../../crds/grammar/index.js';
import type { TokenScope } from './connection.js';
import { UsageFault } from './exit-code.js';
import type { Cell } from './print/table.js';
import { formatAge, inkFor, type Paint } from './print/text.js';
import type { DeploymentView, EventView, NodeView, TenantView, TokenView } from './views.js';

/** What a cell may depend on beside its object. */
export interface CellContext {
  readonly now: number;
  readonly ink: Paint;
}

export interface KindColumn<T> {
  readonly title: string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
  readonly cell: (object: T, look: CellContext) => Cell | string;
}

/** A kind of object that can be listed. */
export interface CliKind<T> {
  /** Names that the user may type; the first is the one that lists print. */
  readonly names: readonly string[];
  readonly path: string;
  readonly speaker: TokenScope;
  readonly columns: readonly KindColumn<T>[];
  readonly nameOf: (object: T) => string;
}

const state = (word: string, { ink }: CellContext): Cell => ({ text: word, paint: inkFor(ink, word) });

const ready = ({ status, replicas }: DeploymentView) => `${status?.readyReplicas ?? 0}/${replicas}`;

export const deployments: CliKind<DeploymentView> = {
  names: ['deployment', 'deployments', 'deploy'],
  path: '/api/v1/deployments',
  speaker: 'tenant',
  nameOf: ({ name }) => name,
  columns: [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'READY', cell: ready },
    { title: 'PHASE', cell: ({ status }, look) => state(status?.phase ?? 'Pending', look) },
    { title: 'AGE', cell: ({ metadata }, { now }) => formatAge(metadata.createdAt, now) },
    { title: 'IMAGE', cell: ({ image }) => image },
    { title: 'GENERATION', wide: true, cell: ({ metadata }) => String(metadata.generation) },
    { title: 'UID', wide: true, cell: ({ metadata }) => metadata.uid },
    { title: 'MESSAGE', wide: true, cell: ({ status }) => status?.message ?? '' },
  ],
};

export const nodes: CliKind<NodeView> = {
  names: ['node', 'nodes'],
  path: '/api/v1/nodes',
  speaker: 'tenant',
  nameOf: ({ name }) => name,
  columns: [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'STATUS', cell: ({ status }, look) => state(status, look) },
    { title: 'CPU FREE', cell: ({ free, capacity }) => `${formatCores(free.cpu)} of ${formatCores(capacity.cpu)}` },
    {
      title: 'MEMORY FREE',
      cell: ({ free, capacity }) => `${formatBytes(free.memory)} of ${formatBytes(capacity.memory)}`,
    },
    { title: 'LAST HEARTBEAT', cell: ({ agent }, { now }) => formatAge(agent.lastHeartbeatAt ?? undefined, now) },
    { title: 'AGE', cell: ({ metadata }, { now }) => formatAge(metadata.createdAt, now) },
    { title: 'AGENT', wide: true, cell: ({ agent }) => agent.version },
    { title: 'ID', wide: true, cell: ({ id }) => id },
    { title: 'LABELS', wide: true, cell: ({ labels }) => pairs(labels) },
  ],
};

export const events: CliKind<EventView> = {
  names: ['event', 'events'],
  path: '/api/v1/events',
  speaker: 'tenant',
  nameOf: ({ id }) => id,
  columns: [
    { title: 'LAST SEEN', cell: ({ lastSeenAt }, { now }) => formatAge(lastSeenAt, now) },
    {
      title: 'TYPE',
      cell: ({ type, severity }, { ink }) => ({ text: type, ...(severity === 'warning' ? { paint: ink.red } : {}) }),
    },
    { title: 'SUBJECT', cell: ({ subject }) => `${subject.kind.toLowerCase()}/${subject.name}` },
    { title: 'COUNT', wide: true, cell: ({ count }) => String(count) },
    { title: 'REASON', wide: true, cell: ({ reason }) => reason },
    { title: 'MESSAGE', cell: ({ message }) => message },
    { title: 'ID', wide: true, cell: ({ id }) => id },
  ],
};

export const tenants: CliKind<TenantView> = {
  names: ['tenant', 'tenants'],
  path: '/api/v1/tenants',
  speaker: 'platform',
  nameOf: ({ id }) => id,
  columns: [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'ID', cell: ({ id }) => id },
    { title: 'AGE', cell: ({ createdAt }, { now }) => formatAge(createdAt, now) },
    { title: 'PLATFORM', wide: true, cell: ({ platform }) => (platform ? 'yes' : 'no') },
  ],
};

export const tokens: CliKind<TokenView> = {
  names: ['token', 'tokens'],
  path: '/api/v1/tokens',
  speaker: 'tenant',
  nameOf: ({ id }) => id,
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'ROLE', cell: ({ role }) => role ?? '-' },
    { title: 'EXPIRES', cell: ({ expiresAt }) => expiresAt },
    { title: 'DESCRIPTION', cell: ({ description }) => description },
    { title: 'TENANT', wide: true, cell: ({ tenant }) => tenant ?? '-' },
  ],
};

/** Every kind. */
export const kinds = [
  deployments,
  nodes,
  events,
  tenants,
  tokens,
] as readonly CliKind<never>[] as readonly CliKind<unknown>[];

/** The kind that the user named. */
export function findKind(word: string): CliKind<unknown> {
  const found = kinds.find(({ names }) => names.includes(word.toLowerCase()));
  if (found) return found;
  throw new UsageFault(`there is no kind "${word}". Known are ${kinds.map(({ names }) => names[1]).join(', ')}.`);
}

/** `a=1, b=2` */
export function pairs(map: Readonly<Record<string, string>>): string {
  return Object.entries(map)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}
