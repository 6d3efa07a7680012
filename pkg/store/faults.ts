import type { Rejection } from '../../crds/rejections/index.js';
import { Fault } from '../fault/index.js';
import type { Revision } from './entry.js';

/** The store could not be reached or could not serve, and it is certain that nothing was stored. */
export class StoreUnavailableFault extends Fault {
  readonly retriable = true;
}

/** It could not be found out in time whether the change was stored. Read before trying again. */
export class OutcomeUnknownFault extends Fault {
  readonly retriable = true;

  constructor(options?: ErrorOptions) {
    super('whether the change was stored could not be found out in time', options);
  }
}

/**
 * etcd does not permit the request to our certificate or user. Nothing was stored. An operator can fix that while we run, so
 * it is tried again.
 */
export class StoreForbiddenFault extends StoreUnavailableFault {}

/** The store will not take this request, now or later: too large, too many operations. Nothing was stored. */
export class StoreRefusedFault extends Fault {
  readonly retriable = false;
}

/** The request is larger than the store takes. Nothing was stored. */
export class StoreTooLargeFault extends StoreRefusedFault {}

/** A put named a lease that has ended. Nothing was stored. */
export class LeaseGoneFault extends Fault {
  readonly retriable = true;

  constructor(options?: ErrorOptions) {
    super('the lease that a key was to be put on has ended', options);
  }
}

/** The state at that revision cannot be read: no longer kept, or not there yet. */
export class CompactedFault extends Fault {
  readonly retriable = false;
  readonly revision: Revision;

  constructor(revision: Revision, options?: ErrorOptions) {
    super(`the state at revision ${revision} is not kept`, options);
    this.revision = revision;
  }
}

/** Others kept writing the same key until the attempts ran out. */
export class ConflictFault extends Fault {
  readonly retriable = true;
  readonly key: string;
  readonly attempts: number;

  constructor(key: string, attempts: number) {
    super(`${key} kept changing through ${attempts} attempts to write it`);
    this.key = key;
    this.attempts = attempts;
  }
}

/** There is nothing under the key that was to be changed. */
export class MissingFault extends Fault {
  readonly retriable = false;
  readonly key: string;

  constructor(key: string) {
    super(`there is nothing under ${key}`);
    this.key = key;
  }
}

/** A record still carries secret material. Nothing was stored. Neither the message nor the rejection holds any of it. */
export class SecretMaterialFault extends Fault {
  readonly retriable = false;
  readonly rejection: Rejection;

  constructor(key: string, rejection: Rejection) {
    super(`${key} would be stored with secret material in ${rejection.field}`);
    this.rejection = rejection;
  }
}
