import { Fault } from '../fault/index.js';

/** The secrets store could not be reached or could not serve, and it is certain that nothing was changed. */
export class SecretStoreUnavailableFault extends Fault {
  readonly retriable = true;
}

/** The secrets server runs but is sealed: an operator must unseal it. */
export class SecretStoreSealedFault extends SecretStoreUnavailableFault {}

/** The secrets server does not accept this platform's own credentials: an operator must renew them. */
export class SecretStoreLoginFault extends SecretStoreUnavailableFault {}

/** It could not be found out in time whether a change was made. The same call may be made again. */
export class SecretOutcomeUnknownFault extends Fault {
  readonly retriable = true;
}

/** A stored secret cannot be read: altered, swapped with another, or sealed with a key that is not at hand. */
export class UnreadableSecretFault extends Fault {
  readonly retriable = false;
}

/** A document is empty or beyond the limits. The rules above should have refused it. */
export class SecretDocumentFault extends Fault {
  readonly retriable = false;
}

/** The secrets store will not take this request, now or later. Nothing was changed. */
export class SecretStoreRefusedFault extends Fault {
  readonly retriable = false;
}

/** The keyring at hand does not open what is in the store. The message says what to do; nothing was changed. */
export class SecretKeyringFault extends Fault {
  readonly retriable = false;

  constructor(reason: string) {
    super(
      `cannot open the secrets: ${reason}. Put the keyring of this control plane there (the setting secretsKeyFile ` +
        'names the file); docs/SECRETS.md says what to do when it is lost.',
    );
  }
}
