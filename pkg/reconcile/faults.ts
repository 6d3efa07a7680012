import { Fault } from '../fault/index.js';

/** Somebody wrote first: what was decided on is no longer so. Nothing was stored; read again and decide again. */
export class OutrunFault extends Fault {
  readonly retriable = true;
}

/** The loop is led by another process, or may be. Nothing was stored. */
export class DeposedFault extends Fault {
  readonly retriable = true;
}
