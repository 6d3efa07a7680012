/** One way in that a server offers: `WWW-Authenticate`, RFC 9110 section 11. */
export interface Challenge {
  /** Lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly params: ReadonlyMap<string, string>;
}

const HEADER_MAX = 4096;
const SCHEME = /[\s,]*([a-z][a-z0-9._~+-]*)(?=[\s,]|$)/iy;
const PARAM = /[\s,]*([a-z0-9_-]+)[ \t]?=[ \t]?(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))(?=[\s,]|$)/iy;

/** Reads the challenges of a header, up to the first thing that is none. */
export function parseChallenges(header: string | undefined): readonly Challenge[] {
  if (header === undefined || header.length > HEADER_MAX) return [];
  const challenges: Challenge[] = [];
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(header) ?? undefined;
    if (match) at = pattern.lastIndex;
    return match;
  };
  for (let scheme = next(SCHEME); scheme; scheme = next(SCHEME)) {
    const params = new Map<string, string>();
    for (let param = next(PARAM); param; param = next(PARAM)) {
      const [, name = '', quoted, bare] = param;
      params.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '');
    }
    challenges.push({ scheme: (scheme[1] as string).toLowerCase(), params });
  }
  return challenges;
}
