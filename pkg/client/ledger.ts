import type { Change, Line } from './change.js';

interface Held<T> {
  readonly object: T;
  readonly print: string;
}

/**
 * What a tail has delivered so far, and from where it goes on.
 *
 * It exists for the day a cursor is no longer kept: the list that is then read again is compared with what was
 * delivered, so that the reader hears of what changed and of what vanished meanwhile, and of nothing else.
 */
export class Ledger<T> {
  readonly #held = new Map<string, Held<T>>();
  /** While the list is read again: the objects that have not been met in it yet. */
  #unmet: Set<string> | undefined;
  #cursor: string | undefined;

  constructor(after: string | undefined) {
    this.#cursor = after;
  }

  /** What the next connection asks for: everything after the last line, or the whole list. */
  resume(): { readonly after?: string } {
    if (this.#cursor !== undefined) return { after: this.#cursor };
    this.#unmet = new Set(this.#held.keys());
    return {};
  }

  /** The cursor is worthless: the next connection lists everything. */
  startOver(): void {
    this.#cursor = undefined;
  }

  *enter(line: Line<T>): Generator<Change<T>> {
    if (line.type === 'bookmark') {
      this.#cursor = line.cursor;
      yield* this.#vanished(line.cursor);
      yield { type: 'bookmark', cursor: line.cursor };
      return;
    }
    // Half a list is no place to resume from: until its bookmark has come, a break reads the list again.
    if (this.#cursor !== undefined) this.#cursor = line.cursor;
    yield* this.#changed(line);
  }

  *#changed(line: Line<T>): Generator<Change<T>> {
    const id = identityOf(line.object);
    const print = JSON.stringify(line.object);
    const known = this.#held.get(id);
    this.#unmet?.delete(id);
    if (line.type === 'deleted') {
      this.#held.delete(id);
      yield { type: 'deleted', cursor: line.cursor, object: line.object };
      return;
    }
    if (known?.print === print) return;
    this.#held.set(id, { object: line.object, print });
    yield { type: known ? 'modified' : (line.type as 'added' | 'modified'), cursor: line.cursor, object: line.object };
  }

  *#vanished(cursor: string): Generator<Change<T>> {
    for (const id of this.#unmet ?? []) {
      const held = this.#held.get(id);
      this.#held.delete(id);
      if (held) yield { type: 'deleted', cursor, object: held.object };
    }
    this.#unmet = undefined;
  }
}

function identityOf(object: unknown): string {
  const { metadata, id, name } = object as {
    readonly metadata?: { readonly uid?: string };
    readonly id?: string;
    readonly name?: string;
  };
  return metadata?.uid ?? id ?? name ?? JSON.stringify(object);
}
