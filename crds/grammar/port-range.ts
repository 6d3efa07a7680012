/** Ports from the first to the last, both included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `7070` or `30000-32767`. */
export function parsePortRange(text: string): PortRange | undefined {
  const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const range = { first: Number(first), last: Number(last) };
  return range.first >= 1 && range.first <= range.last && range.last <= 65_535 ? range : undefined;
}

/** As it is written in configuration. */
export function formatPortRange({ first, last }: PortRange): string {
  return first === last ? String(first) : `${first}-${last}`;
}

export function isPortWithin(port: number, ranges: readonly PortRange[]): boolean {
  return ranges.some(({ first, last }) => first <= port && port <= last);
}
