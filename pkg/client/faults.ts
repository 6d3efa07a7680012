import { Fault } from '../fault/index.js';

/** No answer could be had from the server: nothing listens, the name is unknown, or time ran out. */
export class UnreachableFault extends Fault {
  readonly retriable = true;
  readonly server: string;

  constructor(server: string, options: { readonly because: string; readonly cause?: unknown }) {
    super(`${server} cannot be reached: ${options.because}`, { cause: options.cause });
    this.server = server;
  }
}

/** Something answered, but not an API server that this client understands. */
export class BrokenAnswerFault extends Fault {
  readonly retriable = false;
  readonly status: number;

  constructor(server: string, status: number, because: string) {
    super(`${server} answered ${status}, but ${because}`);
    this.status = status;
  }
}
