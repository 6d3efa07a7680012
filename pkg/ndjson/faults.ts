import { Fault } from '../fault/index.js';

/** The other side sent a line that no honest message needs. */
export class LineTooLongFault extends Fault {
  readonly retriable = true;

  constructor(limit: number) {
    super(`a line of more than ${limit} bytes was received`);
  }
}
