import { Fault } from '../fault/index.js';

/** The secrets store is unreachable or cannot serve. Nothing was changed. */
export class SecretStoreUnavailableFault extends Fault {
  readonly retriable = true;
}

/** The secrets server runs but is sealed: an operator must unseal it. */
export class SecretStoreSealedFault extends SecretStoreUnavailableFault {}

/** The secrets server rejects the credentials of the platform: an operator must renew them. */
export class SecretStoreLoginFault extends SecretStoreUnavailableFault {}

/** Whether a change was made is unknown. The same call may be repeated. */
export class SecretOutcomeUnknownFault extends Fault {
  readonly retriable = true;
}

/** A guard of the change did not hold: another process leads now. Nothing was changed. */
export class SecretPreconditionFault extends Fault {
  readonly retriable = true;
}

/** A stored secret cannot be read: altered, swapped with another, or sealed with a key that is not in the keyring. */
export class UnreadableSecretFault extends Fault {
  readonly retriable = false;
}

/** A document is empty or beyond the limits. Validation should have refused it. */
export class SecretDocumentFault extends Fault {
  readonly retriable = false;
}

/** The secrets store refuses this request for good. Nothing was changed. */
export class SecretStoreRefusedFault extends Fault {
  readonly retriable = false;
}

/** The keyring does not fit the secrets in the store. The message says what to do; nothing was changed. */
export class SecretKeyringFault extends Fault {
  readonly retriable = false;

  constructor(reason: string) {
    super(
      `cannot open the secrets: ${reason}. Restore the keyring of this control plane to that file (setting ` +
        'secretsKeyFile); docs/SECRETS.md describes what to do when it is lost.',
    );
  }
}
