const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** A name reached the key layer unchecked. The rules above it should have refused it. */
export class InvalidSegmentError extends Error {
  constructor() {
    super('a name that cannot be part of a key reached the store');
    this.name = 'BrokenSegmentError';
  }
}

/** Passes a name that can be one part of a key, and nothing else. */
export function checkSegment(name: string): string {
  if (!SEGMENT.test(name)) throw new InvalidSegmentError();
  return name;
}
