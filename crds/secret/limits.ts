/** The limits of secret material. Set by configuration, never by a tenant. */
export interface SecretLimits {
  /** Bytes of one value. */
  readonly valueMax: number;
  /** Bytes of all keys and values of one credential. */
  readonly documentMax: number;
  /** Keys of one credential. */
  readonly keysMax: number;
  readonly bytesMin: number;
  readonly bytesMax: number;
  readonly bytesDefault: number;
  readonly lengthMax: number;
  /** Bits of chance that a generated value has at least. */
  readonly entropyFloor: number;
  /** Characters that random bytes may become at most. */
  readonly encodedMax: number;
}

/** The limits of the default configuration. */
export const defaultSecretLimits: SecretLimits = {
  valueMax: 65_536,
  documentMax: 262_144,
  keysMax: 64,
  bytesMin: 16,
  bytesMax: 3072,
  bytesDefault: 32,
  lengthMax: 4096,
  entropyFloor: 128,
  encodedMax: 4096,
};

/** What the rules of material look at, beside the material. */
export interface MaterialContext {
  readonly limits: { readonly secrets: SecretLimits };
}
