import { Fault } from '../pkg/fault/index.js';

/** A part of the all-in-one did not come up. */
export class PartFault extends Fault {
  readonly retriable = true;
}
