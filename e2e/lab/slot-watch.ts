import { setTimeout as pause } from 'node:timers/promises';

import type { EngineView } from './engine-view.js';

const SLOT = ['mooring.io/deployment-uid', 'mooring.io/slot'] as const;

/** A time during which two containers of one slot ran, as the engine itself tells it. */
export interface SlotOverlap {
  readonly slot: string;
  readonly from: number;
  readonly until: number;
}

/** Looks at the engine again and again, and notes whenever two containers of one slot run, and how few of a deployment do. */
export class SlotWatch {
  readonly #view: Pick<EngineView, 'containers'>;
  readonly #open = new Map<string, number>();
  readonly #past: SlotOverlap[] = [];
  /** Every deployment that has had a container: of one that has none the engine says nothing. */
  readonly #seen = new Set<string>();
  readonly #fewest = new Map<string, number>();
  readonly #fewestHealthy = new Map<string, number>();
  #looking = true;
  readonly #looked: Promise<void>;

  constructor(view: Pick<EngineView, 'containers'>) {
    this.#view = view;
    this.#looked = this.#look();
  }

  /** Every time that two ran at once, those under way included, the earliest first. */
  get doubled(): readonly SlotOverlap[] {
    const now = Date.now();
    return [...this.#past, ...[...this.#open].map(([slot, from]) => ({ slot, from, until: now }))];
  }

  /** The fewest containers of a deployment that ran at once since `forget`. */
  fewest(deployment: string): number {
    return this.#fewest.get(deployment) ?? 0;
  }

  /** The fewest whose health check passed at once since `forget`, by the engine's own word. */
  fewestHealthy(deployment: string): number {
    return this.#fewestHealthy.get(deployment) ?? 0;
  }

  /** Starts counting from zero. */
  forget(): void {
    this.#past.length = 0;
    this.#fewest.clear();
    this.#fewestHealthy.clear();
  }

  async stop(): Promise<void> {
    this.#looking = false;
    await this.#looked;
  }

  async #look(): Promise<void> {
    while (this.#looking) {
      const running = (await this.#view.containers()).filter(({ state }) => state === 'running');
      const [slots, deployments, healthy] = [1, 2, 3].map(() => new Map<string, number>()) as [Counts, Counts, Counts];
      for (const { labels, status } of running) {
        const name = labels['mooring.io/deployment'] ?? '';
        count(slots, SLOT.map(label => labels[label]).join('/'));
        count(deployments, name);
        if (status.includes('(healthy)')) count(healthy, name);
      }
      this.#note(slots);
      for (const name of deployments.keys()) this.#seen.add(name);
      for (const name of this.#seen) {
        lower(this.#fewest, name, deployments.get(name) ?? 0);
        lower(this.#fewestHealthy, name, healthy.get(name) ?? 0);
      }
      await pause(40);
    }
  }

  #note(slots: ReadonlyMap<string, number>): void {
    const now = Date.now();
    for (const [slot, from] of this.#open) {
      if ((slots.get(slot) ?? 0) > 1) continue;
      this.#open.delete(slot);
      this.#past.push({ slot, from, until: now });
    }
    for (const [slot, containers] of slots) if (containers > 1 && !this.#open.has(slot)) this.#open.set(slot, now);
  }
}

type Counts = Map<string, number>;

function lower(least: Counts, key: string, now: number): void {
  least.set(key, Math.min(now, least.get(key) ?? now));
}

function count(counts: Counts, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
