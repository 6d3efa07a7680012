import type { Random } from '../../pkg/clock/index.js';

/** Something that will happen at a time. */
export interface SimEvent {
  readonly due: number;
  readonly label: string;
  readonly run: () => void;
  cancelled: boolean;
}

/** Items due within this much of the next one may happen in any order. */
const WINDOW_MS = 5;
const MOST_RIVALS = 8;

/** What is to happen, by time. A binary heap: taking the next costs the logarithm of how much there is. */
export class EventQueue {
  readonly #heap: SimEvent[] = [];

  add(item: SimEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.due <= item.due) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = item;
  }

  /** Takes one of the items that are due at about the same time, no later than `until`: chance decides which. */
  take(until: number, random: Random): SimEvent | undefined {
    const first = this.#pop();
    if (!first) return undefined;
    if (first.due > until) {
      this.add(first);
      return undefined;
    }
    const last = Math.min(first.due + WINDOW_MS, until);
    const rivals = [first];
    let later: SimEvent | undefined;
    while (rivals.length < MOST_RIVALS && !later) {
      const next = this.#pop();
      if (!next) break;
      if (next.due > last) later = next;
      else rivals.push(next);
    }
    const chosen = rivals[Math.floor(random.next() * rivals.length)]!;
    for (const item of rivals) if (item !== chosen) this.add(item);
    if (later) this.add(later);
    return chosen;
  }

  /** The earliest item that has not been cancelled. */
  #pop(): SimEvent | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (!top) return undefined;
      const last = this.#heap.pop()!;
      if (last !== top) this.#sink(last);
      if (!top.cancelled) return top;
    }
  }

  #sink(item: SimEvent): void {
    const heap = this.#heap;
    const size = heap.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && heap[child + 1]!.due < heap[child]!.due) child++;
      if (heap[child]!.due >= item.due) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = item;
  }
}
