import { keys, ranges } from '../../crds/keys/index.js';
import type { Reason } from '../../crds/reasons/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import type { Clock, Random } from '../clock/index.js';
import { EventLeases, EventWriter } from '../events/index.js';
import { type Change, encode, LeaseGoneFault, type Put, type Store, value } from '../store/index.js';

/** What stands under the key of alarms. Times distinguish one outage from the next. */
interface AlarmRecord {
  /** Those that were announced and are raised, with the time at which each was seen. */
  readonly raised: Readonly<Record<string, string>>;
  /** When the end of each was announced last. */
  readonly cleared: Readonly<Record<string, string>>;
}

const NOTHING: AlarmRecord = { raised: {}, cleared: {} };

/** The reason of an event about an alarm, as etcd names it. */
function toReason(alarm: string): Reason {
  return alarm === 'NOSPACE' ? 'nospace' : alarm === 'CORRUPT' ? 'corrupt' : 'store_alarm';
}

export interface AlarmEventsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly eventRetentionDays: number;
}

/**
 * Announces alarms of the store as events of the platform's tenant, each once, and its end.
 *
 * Any number of processes may do so: the record is written together with the events, guarded by what was read. While an
 * alarm is raised etcd may take no data at all; what could not be stored is stored when it can be, with the time at which
 * it was seen.
 */
export class AlarmEvents {
  readonly #options: AlarmEventsOptions;
  readonly #leases: EventLeases;
  readonly #events: EventWriter;
  /** When this process first saw an alarm that is not announced yet. */
  readonly #seen = new Map<string, string>();

  constructor(options: AlarmEventsOptions) {
    const { store, clock, random, eventRetentionDays } = options;
    this.#options = options;
    this.#leases = new EventLeases(store, clock, eventRetentionDays);
    this.#events = new EventWriter(this.#leases, clock, random);
  }

  /** Makes what is announced agree with the alarms that are raised now. Throws when that cannot be stored yet. */
  async announce(alarms: readonly string[]): Promise<void> {
    const { store, clock } = this.#options;
    const now = new Date(clock.now()).toISOString();
    for (const alarm of alarms) if (!this.#seen.has(alarm)) this.#seen.set(alarm, now);

    const key = keys.alarms();
    const entry = await store.get(key);
    const known = entry ? value<AlarmRecord>(entry) : NOTHING;
    const isKnown = (alarm: string, since: string) => alarm in known.raised || (known.cleared[alarm] ?? '') >= since;
    const raised = [...this.#seen].filter(([alarm, since]) => !isKnown(alarm, since));
    const standing = { ...known.raised, ...Object.fromEntries(raised) };
    const cleared = Object.keys(standing).filter(alarm => !alarms.includes(alarm));
    if (raised.length > 0 || cleared.length > 0) {
      const ends = Object.fromEntries(cleared.map(alarm => [alarm, now]));
      const left = Object.entries(standing).filter(([alarm]) => alarms.includes(alarm));
      const next: AlarmRecord = { raised: Object.fromEntries(left), cleared: { ...known.cleared, ...ends } };
      const puts = [{ key, bytes: encode(next) }, ...(await this.#build(raised, cleared))];
      if (!(await this.#commit({ guards: [{ key, at: entry?.revision ?? 0 }], puts, deletes: [] }))) return;
    }
    for (const alarm of this.#seen.keys()) if (!alarms.includes(alarm)) this.#seen.delete(alarm);
  }

  /** False when another process was first: the next look compares with what it has stored. */
  async #commit(change: Change): Promise<boolean> {
    try {
      return (await this.#options.store.commit(change)).stored;
    } catch (thrown) {
      if (thrown instanceof LeaseGoneFault) this.#leases.discard();
      throw thrown;
    }
  }

  async #build(
    raised: readonly (readonly [alarm: string, since: string])[],
    cleared: readonly string[],
  ): Promise<readonly Put[]> {
    const { entries } = await this.#options.store.list(ranges.tenants);
    const puts: Put[] = [];
    for (const tenant of entries.map(entry => value<StoredTenant>(entry)).filter(({ platform }) => platform)) {
      const subject = { kind: 'Tenant', name: tenant.name, id: tenant.id } as const;
      for (const [alarm, since] of raised) {
        const message = `etcd has raised the alarm ${alarm} and takes no new data: see docs/OPERATIONS.md.`;
        const data = { alarm, since };
        const draft = { type: 'store.alarm_raised', severity: 'warning', reason: toReason(alarm) } as const;
        puts.push(await this.#events.put({ ...draft, tenant: tenant.id, subject, message, data }));
      }
      for (const alarm of cleared) {
        const message = `The alarm ${alarm} of etcd was cleared.`;
        const draft = { type: 'store.alarm_cleared', reason: toReason(alarm) } as const;
        puts.push(await this.#events.put({ ...draft, tenant: tenant.id, subject, message, data: { alarm } }));
      }
    }
    return puts;
  }
}
