/** The oldest version of the Engine API that does all we need: Docker 20.10's. */
export const OLDEST_API = '1.41';

/** The newest version that this client was written against. */
export const NEWEST_API = '1.51';

export interface SpokenVersions {
  readonly engine: string;
  readonly api: string;
}

/** The newest version that both sides speak, given the range of the engine's; undefined when there is none. */
export function spokenVersion(newest: string, oldest: string): string | undefined {
  const spoken = minor(newest) < minor(NEWEST_API) ? newest : NEWEST_API;
  return minor(spoken) >= minor(oldest) && minor(spoken) >= minor(OLDEST_API) ? spoken : undefined;
}

/** 1.9 is older than 1.41: versions of the API count up in the second number. */
function minor(version: string): number {
  const [major = 0, small = 0] = version.split('.').map(Number);
  return major * 10_000 + small;
}
