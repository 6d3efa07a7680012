import { timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

const SHOWN = '[secret]';

/**
 * A value that must not be seen. However it is printed, joined, serialised or inspected, it shows `[secret]`; a copy made
 * by structured clone holds nothing. Only `reveal` gives the value, and whoever calls it answers for where it goes.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Bytes of the value in UTF-8. */
  get size(): number {
    return Buffer.byteLength(this.#value);
  }

  /** Whether both hold the same value, in a time that depends on their lengths only. */
  equals(other: Secret): boolean {
    const [mine, theirs] = [Buffer.from(this.#value), Buffer.from(other.#value)];
    return mine.length === theirs.length && timingSafeEqual(mine, theirs);
  }

  /** The value itself: for the request to a secrets server, the sealed record, and the container's create body. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [Symbol.toPrimitive](): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
