import { formatBytes, formatCores } from '../../crds/grammar/index.js';
import type { Speaker } from './connection.js';
import { UsageFault } from './faults.js';
import { age } from './print/age.js';
import { inkFor, type Paint } from './print/paint.js';
import type { Cell } from './print/table.js';
import type { DeploymentView, EventView, NodeView, TenantView, TokenView } from './views.js';

/** What a cell may depend on beside its object. */
export interface Look {
  readonly now: number;
  readonly ink: Paint;
}

export interface Column<T> {
  readonly title: string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
  readonly cell: (object: T, look: Look) => Cell | string;
}

/** A kind of object that can be listed. */
export interface Kind<T> {
  /** What a person may call it; the first name is the one that lists print. */
  readonly names: readonly string[];
  readonly path: string;
  readonly speaker: Speaker;
  readonly columns: readonly Column<T>[];
  readonly nameOf: (object: T) => string;
}

const state = (word: string, { ink }: Look): Cell => ({ text: word, paint: inkFor(ink, word) });

const ready = ({ status, replicas }: DeploymentView) => `${status?.readyReplicas ?? 0}/${replicas}`;

export const deployments: Kind<DeploymentView> = {
  names: ['deployment', 'deployments', 'deploy'],
  path: '/api/v1/deployments',
  speaker: 'tenant',
  nameOf: ({ name }) => name,
  columns: [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'READY', cell: ready },
    { title: 'PHASE', cell: ({ status }, look) => state(status?.phase ?? 'Pending', look) },
    { title: 'AGE', cell: ({ metadata }, { now }) => age(metadata.createdAt, now) },
    { title: 'IMAGE', cell: ({ image }) => image },
    { title: 'GENERATION', wide: true, cell: ({ metadata }) => String(metadata.generation) },
    { title: 'UID', wide: true, cell: ({ metadata }) => metadata.uid },
    { title: 'MESSAGE', wide: true, cell: ({ status }) => status?.message ?? '' },
  ],
};

export const nodes: Kind<NodeView> = {
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
    { title: 'HEARD', cell: ({ agent }, { now }) => age(agent.lastHeartbeatAt ?? undefined, now) },
    { title: 'AGE', cell: ({ metadata }, { now }) => age(metadata.createdAt, now) },
    { title: 'AGENT', wide: true, cell: ({ agent }) => agent.version },
    { title: 'ID', wide: true, cell: ({ id }) => id },
    { title: 'LABELS', wide: true, cell: ({ labels }) => pairs(labels) },
  ],
};

export const events: Kind<EventView> = {
  names: ['event', 'events'],
  path: '/api/v1/events',
  speaker: 'tenant',
  nameOf: ({ id }) => id,
  columns: [
    { title: 'LAST SEEN', cell: ({ lastSeenAt }, { now }) => age(lastSeenAt, now) },
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

export const tenants: Kind<TenantView> = {
  names: ['tenant', 'tenants'],
  path: '/api/v1/tenants',
  speaker: 'platform',
  nameOf: ({ id }) => id,
  columns: [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'ID', cell: ({ id }) => id },
    { title: 'AGE', cell: ({ createdAt }, { now }) => age(createdAt, now) },
    { title: 'PLATFORM', wide: true, cell: ({ platform }) => (platform ? 'yes' : 'no') },
  ],
};

export const tokens: Kind<TokenView> = {
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

/** Every kind, as one that nothing more is known of. */
export const kinds = [
  deployments,
  nodes,
  events,
  tenants,
  tokens,
] as readonly Kind<never>[] as readonly Kind<unknown>[];

/** The kind a person means. */
export function kindCalled(word: string): Kind<unknown> {
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
