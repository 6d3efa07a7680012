import { computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';

import type { VolumeView } from '../../crds/volume/view.js';
import { getListPath } from '../model/listing.js';
import type { LiveList } from '../model/live-list.js';
import type { EventView, JobView, ListedSecret, ShownNetwork, NodeView } from '../model/views.js';
import type { ApiConnection } from './connection.js';

/**
 * Lists of which every page shows what is wrong. A browser has too few connections for a watch of each: they are read when the
 * session begins, and again a moment after an event about one of their kind.
 */
export interface SessionReadings {
  readonly volumes: ReadonlySignal<readonly VolumeView[]>;
  readonly networks: ReadonlySignal<readonly ShownNetwork[]>;
  /** Written also by the page that watches jobs: no event reports one that was deleted. */
  readonly jobs: Signal<readonly JobView[]>;
  readonly secrets: ReadonlySignal<readonly ListedSecret[]>;
  /** Whether each was read, or could not be. */
  readonly isRead: ReadonlySignal<boolean>;
  /** Reads the lists again that the events of a kind are about. */
  readonly refresh: (kind: ReadKind) => void;
}

interface FollowedLists {
  readonly events: ReadonlySignal<LiveList<EventView>>;
  readonly nodes: ReadonlySignal<LiveList<NodeView>>;
}

/** The lists that are read, by the kind that events name. What is wrong in each is judged by a function of its own. */
function createLists() {
  return {
    Volume: signal<readonly VolumeView[]>([]),
    Network: signal<readonly ShownNetwork[]>([]),
    Job: signal<readonly JobView[]>([]),
    Secret: signal<readonly ListedSecret[]>([]),
  } as const;
}

type ReadKind = keyof ReturnType<typeof createLists>;

const SETTLE_MS = 500;
const PAGE_LIMIT = 500;
const MAX_PAGES = 20;

/** Reads these lists and follows the events about them until `ended`. */
export function followReadings(
  connection: ApiConnection,
  { events, nodes }: FollowedLists,
  ended: AbortSignal,
): SessionReadings {
  const lists = createLists();
  const kinds = Object.keys(lists) as readonly ReadKind[];
  const timers = new Map<ReadKind, ReturnType<typeof setTimeout>>();
  const read = async (kind: ReadKind) => {
    timers.delete(kind);
    // What is shown stays when it cannot be read: the next event tries again.
    const items = await readAll(connection, getListPath(kind), ended).catch(() => undefined);
    if (items && !ended.aborted) (lists[kind] as Signal<readonly unknown[]>).value = items;
  };
  const refresh = (kind: ReadKind) => {
    if (!timers.has(kind))
      timers.set(
        kind,
        setTimeout(() => void read(kind), SETTLE_MS),
      );
  };
  const isRead = signal(false);
  void Promise.all(kinds.map(read)).then(() => (isRead.value = true));
  let counts: ReadonlyMap<string, number> | undefined;
  const disposeEvents = effect(() => {
    const { items, isLoaded } = events.value;
    if (!isLoaded) return;
    const before = counts;
    counts = new Map([...items.values()].map(({ id, count }) => [id, count]));
    if (!before) return;
    const news = [...items.values()].filter(({ id, count }) => before.get(id) !== count);
    for (const kind of kinds) if (news.some(({ type }) => type.startsWith(`${kind.toLowerCase()}.`))) refresh(kind);
  });
  // No event reports that the state of a network is unknown because its node sends no heartbeats.
  const health = computed(() => [...nodes.value.items.values()].map(({ name, status }) => `${name} ${status}`).join());
  const disposeNodes = effect(() => {
    void health.value;
    refresh('Volume');
    refresh('Network');
  });
  ended.addEventListener('abort', () => {
    disposeEvents();
    disposeNodes();
    for (const timer of timers.values()) clearTimeout(timer);
  });
  return { volumes: lists.Volume, networks: lists.Network, jobs: lists.Job, secrets: lists.Secret, isRead, refresh };
}

async function readAll(connection: ApiConnection, path: string, ended: AbortSignal): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  let after = '';
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = `?limit=${PAGE_LIMIT}${after}`;
    const answer = await connection.get<{ items: readonly unknown[]; next: string | null }>(path + query, ended);
    all.push(...answer.items);
    if (answer.next === null) break;
    after = `&continue=${encodeURIComponent(answer.next)}`;
  }
  return all;
}
