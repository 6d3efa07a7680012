import { timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

const SHOWN = '[secret]';

/**
 * A value that must not be shown. Printed, joined, serialised or inspected, it is `[secret]`; a structured clone is empty.
 * Only `reveal` returns the value, and its caller is responsible for where it goes.
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

  /** Whether both hold the same value. Takes constant time for equal lengths. */
  equals(other: Secret): boolean {
    const [mine, theirs] = [Buffer.from(this.#value), Buffer.from(other.#value)];
    return mine.length === theirs.length && timingSafeEqual(mine, theirs);
  }

  /** The value: for requests to a secrets server, sealed records and the body that creates a container. */
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
