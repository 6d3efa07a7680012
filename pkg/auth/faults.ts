import { Fault } from '../fault/index.js';

/** The key file can be read by others than its owner, so what it protects must be taken as known. */
export class ExposedKeyFileFault extends Fault {
  readonly retriable = false;
}

/** The key file holds no key, or something that is not one. */
export class UnusableKeyFileFault extends Fault {
  readonly retriable = false;
}
