import { Fault } from '../fault/index.js';

/**
 * Somebody wrote first, or leads now: what was decided on is no longer so. Nothing was stored; read again and decide
 * again.
 */
export class OutrunFault extends Fault {
  readonly retriable = true;
}
