import { Fault } from '../fault/index.js';

/** The control plane could not be reached, or the connection broke before it had answered. */
export class LinkUnreachableFault extends Fault {
  readonly retriable = true;
}

/** The control plane answered, and the answer was no. */
export class LinkRefusedFault extends Fault {
  readonly status: number;
  /** The code of the rejection, where the answer was one. */
  readonly code: string;

  constructor(status: number, code: string) {
    super(`the control plane answered ${status} ${code}`);
    this.status = status;
    this.code = code;
  }

  /** The same request may succeed later only when the server was busy or broken. */
  get retriable(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}
