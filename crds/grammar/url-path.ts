const DOT_SEGMENT = /(?<=[/\\])(?:\.|%2e){1,2}(?=[/\\]|[\0- ]*$)/i;
/** What an address is read without, wherever it stands in it; at its ends blanks are as well. */
const IGNORED = /[\t\n\r]/g;

/**
 * The first `.` or `..` in the place of a name in the path of an address, also where it is escaped. The standard takes it out, together with what stands
 * before it, and takes a backslash for a slash: such an address is about something else than it seems. The query is not looked at.
 */
export function findDotSegment(address: string): string | undefined {
  const [path = ''] = address.replace(IGNORED, '').split(/[?#]/, 1);
  return DOT_SEGMENT.exec(path)?.[0].replace(/%2e/gi, '.');
}
