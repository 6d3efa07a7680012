/** One key of a credential, as it was typed. */
export interface TypedKey {
  readonly key: string;
  readonly value: string;
  readonly isGenerated: boolean;
}

/** What is sent to write the next version of a credential: what was typed, and the names of what the platform is to make. */
export function toSecretBody(rows: readonly TypedKey[]): object {
  const typed = rows.filter(({ isGenerated }) => !isGenerated);
  const generated = rows.filter(({ isGenerated }) => isGenerated).map(({ key }) => key);
  return {
    ...(typed.length > 0 && { values: Object.fromEntries(typed.map(({ key, value }) => [key, value])) }),
    ...(generated.length > 0 && { generate: { keys: generated } }),
  };
}
