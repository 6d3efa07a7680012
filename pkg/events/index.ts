/**
 * Writing events: an event is a put in the transaction of the change that it announces.
 *
 * `EventWriter` only builds puts; whoever makes the change commits them, so there is no event of something that
 * did not happen and nothing that happened without its event.
 *
 * @module
 */
import type { Clock, Random } from '../clock/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import type { EventSubjectKind, EventType } from '../../crds/kinds/index.js';
import type { Put, Store } from '../store/index.js';
import { keys } from '../../crds/keys/index.js';

const HOUR_MS = 3_600_000;

/**
 * The leases that make events expire: one for all events of an hour, not one an event.
 *
 * A lease is dropped an hour after it was granted, long before it ends, because one put on an ended lease would
 * fail the whole batch it travels in.
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

  /** Forgets a lease that turned out to be gone, so that the next event gets a new one. */
  discard(): void {
    this.#current = undefined;
  }
}

/** What the one who saw it says. The writer adds who, when and how often. */
export interface EventDraft {
  readonly type: EventType;
  readonly tenant: string;
  readonly subject: StoredEvent['subject'] & { readonly kind: EventSubjectKind };
  readonly severity?: StoredEvent['severity'];
  /** One word for programs. */
  readonly reason: string;
  /** One sentence for people. */
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LAST = ALPHABET.at(-1);

/** Builds the puts that record events. */
export class EventWriter {
  readonly #leases: EventLeases;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Of the last id: when, how that is written, and the rest. */
  #time = -Infinity;
  #timeText = '';
  #chance = '';

  constructor(leases: EventLeases, clock: Clock, random: Random) {
    this.#leases = leases;
    this.#clock = clock;
    this.#random = random;
  }

  /** A new event. */
  async put(draft: EventDraft): Promise<Put> {
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

  /** The same standing cause, seen once more: the event of `seen` counts up instead of a second one appearing. */
  async again(seen: StoredEvent): Promise<Put> {
    return this.#put({ ...seen, count: seen.count + 1, lastSeenAt: new Date(this.#clock.now()).toISOString() });
  }

  async #put(event: StoredEvent): Promise<Put> {
    return {
      key: keys.event(event.tenant, event.id),
      bytes: Buffer.from(JSON.stringify(event)),
      lease: await this.#leases.current(),
    };
  }

  /** `evt_`, 48 bits of milliseconds, 80 bits of chance: sorts by time, and in one millisecond as it was asked for. */
  #id(now: number): string {
    if (now > this.#time) {
      this.#time = now;
      this.#timeText = textOf(now);
      this.#chance = Array.from(this.#random.bytes(16), byte => ALPHABET[byte % 32]).join('');
    } else {
      this.#chance = successor(this.#chance);
    }
    return `evt_${this.#timeText}${this.#chance}`;
  }
}

/** Milliseconds in ten digits, which sort as the time does. */
function textOf(milliseconds: number): string {
  let text = '';
  for (let rest = milliseconds; text.length < 10; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return text;
}

/** The text that sorts next among those of its length. */
function successor(text: string): string {
  let end = text.length;
  while (end > 1 && text[end - 1] === LAST) end--;
  const raised = ALPHABET[(ALPHABET.indexOf(text[end - 1]!) + 1) % ALPHABET.length]!;
  return `${text.slice(0, end - 1)}${raised}`.padEnd(text.length, ALPHABET[0]);
}
