import { Fault } from '../fault/index.js';

/** The connection has ended, or the other side does not speak HTTP/2 as it should. */
export class Http2Fault extends Fault {
  readonly retriable = true;
}
