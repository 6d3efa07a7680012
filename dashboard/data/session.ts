import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';

import type { LiveList } from '../model/live-list.js';
import { readSignInCode } from '../model/places.js';
import { listTroubles, type Trouble } from '../model/troubles.js';
import type { DeploymentView, EventView, NodeView, SignedIn, TenantView } from '../model/views.js';
import { ApiConnection, RefusedCall } from './connection.js';
import { followReadings, type SessionReadings } from './readings.js';
import { openListWatch, type Watch } from './watch.js';

/** What is known while someone is signed in and has a tenant: three streams, which every page shares. */
export interface OpenSession {
  readonly connection: ApiConnection;
  readonly who: SignedIn;
  readonly tenant: TenantView;
  readonly deployments: ReadonlySignal<LiveList<DeploymentView>>;
  readonly nodes: ReadonlySignal<ReadonlyMap<string, NodeView>>;
  readonly events: ReadonlySignal<LiveList<EventView>>;
  readonly others: SessionReadings;
  /** What is wrong, the cause of other things first. */
  readonly troubles: ReadonlySignal<readonly Trouble[]>;
  readonly isConnected: ReadonlySignal<boolean>;
  readonly isLoaded: ReadonlySignal<boolean>;
  readonly end: () => void;
}

/** Someone whose token was accepted and who has not chosen a tenant yet. */
export interface PendingSignIn {
  readonly connection: ApiConnection;
  readonly who: SignedIn;
  readonly tenants: readonly TenantView[];
}

export const pendingSignIn = signal<PendingSignIn | undefined>(undefined);
export const session = signal<OpenSession | undefined>(undefined);
/** Why the last session has ended, where that was not asked for. */
export const signOutMessage = signal('');

const MAX_TENANTS = 500;
const EVENTS_KEPT = 1000;

/** Signs in. A tenant's token opens its tenant; an administrator of the platform chooses one. Throws what is refused. */
export async function signIn(token: string): Promise<void> {
  const connection = new ApiConnection(token.trim());
  const who = await connection.get<SignedIn>('/api/v1/tokens/self');
  signOutMessage.value = '';
  if (who.kind === 'admin') {
    const { items } = await connection.get<{ items: readonly TenantView[] }>(`/api/v1/tenants?limit=${MAX_TENANTS}`);
    pendingSignIn.value = { connection, who, tenants: items };
    return;
  }
  const tenant = await connection.get<TenantView>('/api/v1/tenants/self');
  pendingSignIn.value = { connection, who, tenants: [tenant] };
  chooseTenant(tenant);
}

/** The code of the link that the page was opened with: in memory, and out of the address before anything else is done. */
export const offeredCode = signal(takeOfferedCode());
addEventListener('hashchange', () => {
  const code = takeOfferedCode();
  if (code !== undefined && !pendingSignIn.value) offeredCode.value = code;
});

function takeOfferedCode(): string | undefined {
  const code = readSignInCode(location.hash);
  if (code !== undefined) history.replaceState(undefined, '', '/');
  return code;
}

/** Signs in with the code of a link, which is used up by it. Throws what is refused. */
export async function signInWithLink(): Promise<void> {
  const code = offeredCode.value;
  offeredCode.value = undefined;
  const { token } = await new ApiConnection().send<{ token: string }>('POST', '/api/v1/tokens/sign-in', { code });
  await signIn(token);
}

/** Opens a tenant. What was shown of another is forgotten first. */
export function chooseTenant(tenant: TenantView): void {
  const known = pendingSignIn.value;
  if (!known) return;
  if (session.value) leavePlace();
  session.value?.end();
  session.value = openSession(known, tenant);
}

/** The place names an object of the tenant that was shown. */
function leavePlace(): void {
  location.hash = '#/';
}

/** Forgets the token and everything that was read with it. */
export function signOut(because = ''): void {
  leavePlace();
  session.value?.end();
  session.value = undefined;
  pendingSignIn.value = undefined;
  signOutMessage.value = because;
}

function openSession({ connection: own, who }: PendingSignIn, tenant: TenantView): OpenSession {
  const connection = own.for(tenant.id);
  const ended = new AbortController();
  const refused = (refusal: RefusedCall) => signOut(`You were signed out: ${refusal.message}`);
  const watch = <T>(kind: string, nameOf: (object: T) => string, limit?: number): Watch<T> =>
    openListWatch(connection, { path: `/api/v1/${kind}`, nameOf, ...(limit && { limit }) }, ended.signal, refused);
  const deployments = watch<DeploymentView>('deployments', ({ name }) => name);
  const nodes = watch<NodeView>('nodes', ({ name }) => name);
  const events = watch<EventView>('events', ({ id }) => id, EVENTS_KEPT);
  const free = followFreeCapacity(connection, deployments, nodes, ended.signal);
  const others = followReadings(connection, { events: events.list, nodes: nodes.list }, ended.signal);
  const { volumes, networks, jobs, secrets } = others;
  return {
    connection,
    who,
    tenant,
    others,
    troubles: computed(() =>
      listTroubles({
        deployments: deployments.list.value.items.values(),
        nodes: nodes.list.value.items.values(),
        volumes: volumes.value,
        networks: networks.value,
        jobs: jobs.value,
        secrets: secrets.value,
      }),
    ),
    deployments: deployments.list,
    nodes: free,
    events: events.list,
    isConnected: computed(() => [deployments, nodes, events].every(({ isConnected }) => isConnected.value)),
    isLoaded: computed(() => deployments.list.value.isLoaded && nodes.list.value.isLoaded && others.isRead.value),
    end: () => ended.abort(),
  };
}

const SETTLE_MS = 1_500;

/** Nodes with the capacity that is free now: it moves with deployments, which the watch of nodes does not report. */
function followFreeCapacity(
  connection: ApiConnection,
  deployments: Watch<DeploymentView>,
  nodes: Watch<NodeView>,
  ended: AbortSignal,
): ReadonlySignal<ReadonlyMap<string, NodeView>> {
  const free = signal<ReadonlyMap<string, NodeView['free']>>(new Map());
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = async () => {
    timer = undefined;
    try {
      const { items } = await connection.get<{ items: readonly NodeView[] }>('/api/v1/nodes?limit=500', ended);
      free.value = new Map(items.map(node => [node.id, node.free]));
    } catch {
      // what is shown stays until the next change
    }
  };
  const dispose = effect(() => {
    void deployments.list.value;
    timer ??= setTimeout(() => void refresh(), SETTLE_MS);
  });
  ended.addEventListener('abort', () => (dispose(), clearTimeout(timer)));
  return computed(() => {
    const { items } = nodes.list.value;
    return new Map([...items].map(([name, node]) => [name, { ...node, free: free.value.get(node.id) ?? node.free }]));
  });
}
