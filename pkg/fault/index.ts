/**
 * Faults: failures of the platform, as opposed to refusals of a request.
 *
 * A refusal is a value (`Rejection`); a fault is thrown. Code that catches one decides by `retriable` and by
 * `instanceof`, never by the message.
 *
 * Each package declares its own faults beside the code that throws them; only the root is here.
 *
 * @module
 */

/** A failure of the platform, not of a request. `retriable` says whether trying again can help. */
export abstract class Fault extends Error {
  abstract readonly retriable: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An invariant is broken: a bug. Trying again will not help. */
export class BrokenInvariantFault extends Fault {
  readonly retriable = false;
}

/** Converts any thrown value to an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
