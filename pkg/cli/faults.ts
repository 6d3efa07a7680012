import { Fault } from '../fault/index.js';

/** The person at the keyboard can mend this: the message says what is wrong and what to do. */
export class UsageFault extends Fault {
  readonly retriable = false;
}
