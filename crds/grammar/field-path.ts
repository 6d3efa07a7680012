/** Longest part of a path that is printed: a name a client made up may be as long as the body. */
const PRINTED = 128;

/** Where in a document a value stands. */
export class FieldPath {
  static readonly root = new FieldPath([]);

  /** From the outside in: names of fields, and positions in lists. */
  readonly parts: readonly (string | number)[];

  private constructor(parts: readonly (string | number)[]) {
    this.parts = parts;
  }

  /** The path of a JSON Pointer (RFC 6901) into `document`, which shows what is a list or a map. */
  static ofPointer(pointer: string, document: unknown): FieldPath {
    let path = FieldPath.root;
    let value = document;
    for (const raw of pointer.split('/').slice(1)) {
      const part = unescapePointer(raw);
      path = Array.isArray(value) ? path.index(Number(part)) : path.child(part);
      value = (value as Record<string, unknown> | undefined)?.[part];
    }
    return path;
  }

  child(name: string): FieldPath {
    return new FieldPath([...this.parts, name]);
  }

  index(position: number): FieldPath {
    return new FieldPath([...this.parts, position]);
  }

  /** The place that the first `length` parts lead to. */
  upTo(length: number): FieldPath {
    return new FieldPath(this.parts.slice(0, length));
  }

  /** As a client reads it: `healthCheck.timeout`, `ports[0].hostPort`. */
  toString(): string {
    let text = '';
    for (const part of this.parts) {
      if (typeof part === 'number') text += `[${part}]`;
      else text += `${text === '' ? '' : '.'}${part.length > PRINTED ? `${part.slice(0, PRINTED)}…` : part}`;
    }
    return text;
  }

  /** As a JSON Patch names it: `/healthCheck/timeout`. */
  toPointer(): string {
    return this.parts.map(part => `/${escapePointer(String(part))}`).join('');
  }
}

/** A name as it stands in a JSON Pointer. */
export function escapePointer(name: string): string {
  return name.replace(/[~/]/g, character => (character === '~' ? '~0' : '~1'));
}

/** The name that stands in a JSON Pointer. */
export function unescapePointer(part: string): string {
  return part.replace(/~[01]/g, escape => (escape === '~0' ? '~' : '/'));
}
