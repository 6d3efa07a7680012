import { type Clock, sleep } from '../clock/index.js';
import { MemoryStore, type Put, type Revision, type StoreMember } from '../store/index.js';
import type { RecoverableStore } from './store-recovery.js';

export const MB = 1 << 20;
export const QUOTA = 256 * MB;
/** How long a member is defragmented: longer than a turn lasts that is not renewed. */
const DEFRAGMENTED_FOR_MS = 90_000;

type Member = { -readonly [Name in keyof StoreMember]: StoreMember[Name] };

/** A store whose members have files of some size, half of which is history. */
export class FullStore {
  readonly members: Member[];
  readonly steps: string[] = [];
  /** The most members that were defragmented at a time. */
  mostBlocked = 0;
  alarms: readonly string[];
  /** Called before each call of a process, which may be killed here. */
  onCall: (call: string, process: AbortSignal) => void = () => undefined;
  /** Which processes have had a member defragmented. */
  readonly actors = new Set<AbortSignal>();
  readonly #memory: MemoryStore;
  readonly #clock: Clock;
  #blocked = 0;

  constructor(clock: Clock, names: readonly string[], alarms: readonly string[] = []) {
    this.#clock = clock;
    this.#memory = new MemoryStore({ clock });
    this.alarms = alarms;
    this.members = names.map((name, index) => {
      const sizes = { databaseBytes: 257 * MB, usedBytes: 250 * MB };
      return { id: name, name, endpoint: `https://${name}`, isLeader: index === 0, isReady: true, ...sizes };
    });
  }

  /** What one process sees of it. After `kill` its calls come to nothing. */
  open(signal: AbortSignal): RecoverableStore {
    const wrap =
      <Arguments extends unknown[], Result>(call: string, act: (...given: Arguments) => Promise<Result>) =>
      async (...given: Arguments): Promise<Result> => {
        this.onCall(call, signal);
        if (signal.aborted) throw new Error('the process was killed');
        return act(...given);
      };
    const own = {
      get: wrap('get', (key: string) => this.#memory.get(key)),
      revision: wrap('revision', () => this.#memory.revision()),
      compact: wrap('compact', async () => this.#compact()),
      health: wrap('health', async () => this.health()),
      members: wrap('members', async () => this.members.map(member => ({ ...member }))),
      defragment: wrap('defragment', (member: StoreMember) => {
        this.actors.add(signal);
        return this.#defragment(member);
      }),
      disarm: wrap('disarm', async () => this.#disarm()),
      putUncounted: wrap('putUncounted', (put: Put, at: Revision) => this.#put(put, at)),
    };
    return new Proxy(own, {
      get: (target, name) => Reflect.get(target, name) ?? Reflect.get(this.#memory, name),
    }) as unknown as RecoverableStore;
  }

  health() {
    const [largest] = this.members.toSorted((a, b) => b.databaseBytes - a.databaseBytes);
    return { databaseBytes: largest!.databaseBytes, usedBytes: largest!.usedBytes, alarms: this.alarms };
  }

  #compact(): void {
    this.steps.push('compact');
    for (const member of this.members) member.usedBytes = Math.min(member.usedBytes, 125 * MB);
  }

  /** etcd ends what it has begun, also when the process that asked for it has been killed. */
  async #defragment({ id }: StoreMember): Promise<void> {
    const member = this.members.find(candidate => candidate.id === id)!;
    this.mostBlocked = Math.max(this.mostBlocked, ++this.#blocked);
    this.steps.push(`defragment ${id}`);
    member.isReady = false;
    await sleep(this.#clock, DEFRAGMENTED_FOR_MS);
    Object.assign(member, { isReady: true, databaseBytes: member.usedBytes });
    this.#blocked--;
  }

  #disarm(): void {
    this.steps.push('disarm');
    if (this.health().databaseBytes >= QUOTA) return; // it raises the alarm again
    this.alarms = this.alarms.filter(alarm => alarm !== 'NOSPACE');
  }

  async #put(put: Put, at: Revision): Promise<Revision | undefined> {
    const verdict = await this.#memory.commit({ guards: [{ key: put.key, at }], puts: [put], deletes: [] });
    return verdict.stored ? verdict.revision : undefined;
  }
}
