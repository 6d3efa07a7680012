/**
 * Writing events: an event is a put in the transaction of the change that it announces.
 *
 * `EventWriter` only builds puts; the caller commits them together with the change, so there is no event without its
 * change and no change without its event. `countEvents` counts those that a store has accepted.
 *
 * @module
 */
import type { Clock, Random } from '../clock/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import type { EventSubjectKind, EventType } from '../../crds/kinds/index.js';
import type { Metrics } from '../metrics/index.js';
import { encode, type Put, type Store } from '../store/index.js';
import { keys } from '../../crds/keys/index.js';
import type { Reason } from '../../crds/reasons/index.js';

const HOUR_MS = 3_600_000;

/**
 * The leases that make events expire: one for all events of an hour, not one for each event.
 *
 * A lease is used for an hour only, long before it expires, because one put on an expired lease would fail the
 * whole batch of its transaction.
 */
export class EventLeases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttlSeconds: number;
  #current: { readonly id: Promise<string>; readonly until: number } | undefined;

  constructor(store: Store, clock: Clock, retentionDays: number) {
    this.#store = store;
    this.#clock = clock;
    this.#ttlSeconds = retentionDays * 86_400 + 3_600;
  }

  /** The lease to put an event on now. */
  current(): Promise<string> {
    const now = this.#clock.monotonic();
    if (this.#current && now < this.#current.until) return this.#current.id;

    const id = this.#store.grant(this.#ttlSeconds).then(lease => lease.id);
    const granted = { id, until: now + HOUR_MS };
    this.#current = granted;
    id.catch(() => {
      if (this.#current === granted) this.#current = undefined;
    });
    return id;
  }

  /** Drops a lease that the store no longer knows, so that the next event gets a new one. */
  discard(): void {
    this.#current = undefined;
  }
}

/** An event as the caller describes it. The writer adds the id, the times and the count. */
export interface EventDraft {
  readonly type: EventType;
  readonly tenant: string;
  readonly subject: StoredEvent['subject'] & { readonly kind: EventSubjectKind };
  readonly severity?: StoredEvent['severity'];
  /** One word for programs. */
  readonly reason: Reason;
  /** One sentence for people. */
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LAST = ALPHABET.at(-1);

/** The put of an event, with what it is counted by, so that its bytes are not parsed. */
export interface EventPut extends Put {
  readonly counted: { readonly type: string; readonly reason: string };
}

/** The same store, which counts the events in what it has stored. One whose outcome is not known is not counted. */
export function countEvents(store: Store, metrics: Pick<Metrics, 'count'>): Store {
  return {
    get: key => store.get(key),
    list: (prefix, at) => store.list(prefix, at),
    page: (prefix, options) => store.page(prefix, options),
    commit: async change => {
      const verdict = await store.commit(change);
      for (const put of verdict.stored ? change.puts : []) {
        if ('counted' in put) metrics.count('mooring_events_total', (put as EventPut).counted);
      }
      return verdict;
    },
    revision: () => store.revision(),
    follow: (handler, options, signal) => store.follow(handler, options, signal),
    grant: ttlSeconds => store.grant(ttlSeconds),
    keepAlive: leaseId => store.keepAlive(leaseId),
    revoke: leaseId => store.revoke(leaseId),
    close: () => store.close(),
  };
}

/** Builds the puts that record events. */
export class EventWriter {
  readonly #leases: EventLeases;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Of the last id: its time, the text of that time, and the random rest. */
  #time = -Infinity;
  #timeText = '';
  #chance = '';

  constructor(leases: EventLeases, clock: Clock, random: Random) {
    this.#leases = leases;
    this.#clock = clock;
    this.#random = random;
  }

  /** The put of a new event. */
  async put(draft: EventDraft): Promise<EventPut> {
    const now = this.#clock.now();
    const at = new Date(now).toISOString();
    return this.#put({
      id: this.#id(now),
      type: draft.type,
      at,
      lastSeenAt: at,
      count: 1,
      tenant: draft.tenant,
      subject: draft.subject,
      severity: draft.severity ?? 'info',
      reason: draft.reason,
      message: draft.message,
      data: draft.data ?? {},
    });
  }

  /** The put that counts the event `seen` up when its cause persists, instead of a second event. */
  async again(seen: StoredEvent): Promise<EventPut> {
    return this.#put({ ...seen, count: seen.count + 1, lastSeenAt: new Date(this.#clock.now()).toISOString() });
  }

  async #put(event: StoredEvent): Promise<EventPut> {
    const { tenant, id, type, reason } = event;
    const lease = await this.#leases.current();
    return { key: keys.event(tenant, id), bytes: encode(event), lease, counted: { type, reason } };
  }

  /** `evt_`, 48 bits of milliseconds, 80 random bits: sorts by time, and within one millisecond by call order. */
  #id(now: number): string {
    if (now > this.#time) {
      this.#time = now;
      this.#timeText = formatTime(now);
      this.#chance = formatChance(this.#random.bytes(16));
    } else {
      this.#chance = nextText(this.#chance);
    }
    return `evt_${this.#timeText}${this.#chance}`;
  }
}

/** Milliseconds as ten digits that sort by time. */
function formatTime(milliseconds: number): string {
  let text = '';
  for (let rest = milliseconds; text.length < 10; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return text;
}

/** A character for each byte. */
function formatChance(bytes: Buffer): string {
  let text = '';
  for (const byte of bytes) text += ALPHABET[byte % 32];
  return text;
}

/** The next text of the same length in sort order. */
function nextText(text: string): string {
  let end = text.length;
  while (end > 1 && text[end - 1] === LAST) end--;
  const raised = ALPHABET[(ALPHABET.indexOf(text[end - 1]!) + 1) % ALPHABET.length]!;
  return `${text.slice(0, end - 1)}${raised}`.padEnd(text.length, ALPHABET[0]);
}
