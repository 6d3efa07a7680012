/** Where in a record a value stands, and what was found wrong so far. */
export interface RepairContext {
  /** The segments of the key after the kind. */
  readonly segments: readonly string[];
  /** Names of members and what they are not. Never quotes a value: it might be secret. */
  readonly faults: string[];
}

/** Gives the value itself where it is as expected; notes a fault and gives a substitute where it is not. */
export type Repairer = (value: unknown, context: RepairContext, path: string) => unknown;

type Substitute<T> = T | ((segments: readonly string[]) => T);

/** What is named in a key must be able to be a part of one. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;
/** Longer than any text that a record of ours has beside those of a spec. */
const TEXT_MAX = 65_536;

function expect(is: (value: unknown) => boolean, expected: string): <T>(substitute: Substitute<T>) => Repairer {
  return substitute => (value, context, path) => {
    if (is(value)) return value;
    context.faults.push(`${path || 'the document'} is not ${expected}`);
    return typeof substitute === 'function'
      ? (substitute as (segments: readonly string[]) => unknown)(context.segments)
      : substitute;
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = expect(value => typeof value === 'string' && value.length <= TEXT_MAX, 'a text');
export const name = expect(value => typeof value === 'string' && NAME.test(value), 'a name');
export const count = expect(value => Number.isSafeInteger(value) && (value as number) >= 0, 'a count');
export const flag = expect(value => typeof value === 'boolean', 'true or false');
export const time = expect(value => typeof value === 'string' && !Number.isNaN(Date.parse(value)), 'a time');

/** What stands in the key at this position, and nothing else. */
export function segment(position: number): Repairer {
  return (value, context, path) => {
    const own = context.segments[position] ?? '';
    if (value === own) return value;
    context.faults.push(`${path} is not what the key says`);
    return own;
  };
}

/** Absent, or as expected: otherwise it is left out. */
export function optional(repairer: Repairer): Repairer {
  return (value, context, path) => {
    if (value === undefined) return undefined;
    const known = context.faults.length;
    const repaired = repairer(value, context, path);
    return context.faults.length === known ? repaired : undefined;
  };
}

/** A list; what is wrong in it is left out. */
export function list(item: Repairer): Repairer {
  return (value, context, path) => {
    if (!Array.isArray(value)) {
      context.faults.push(`${path} is not a list`);
      return [];
    }
    const sound = value.filter((each, at) => {
      const known = context.faults.length;
      item(each, context, `${path}[${at}]`);
      return context.faults.length === known;
    });
    return sound.length === value.length ? value : sound;
  };
}

/** A map; what is wrong in it is left out. */
export function map(item: Repairer): Repairer {
  return (value, context, path) => {
    if (!isObject(value)) {
      context.faults.push(`${path} is not a map`);
      return {};
    }
    const sound = Object.entries(value).filter(([, each]) => {
      const known = context.faults.length;
      item(each, context, `a value of ${path}`);
      return context.faults.length === known;
    });
    return sound.length === Object.keys(value).length ? value : Object.fromEntries(sound);
  };
}

/** An object; each member is repaired by itself, in this order, and members that are not named here stay as they are. */
export function object(members: Readonly<Record<string, Repairer>>): Repairer {
  const repairers = Object.entries(members);
  return (value, context, path) => {
    const known = context.faults.length;
    if (!isObject(value)) context.faults.push(`${path || 'the document'} is not an object`);
    const given = isObject(value) ? value : {};
    // What no object has is one fault, not one of each member.
    const inner = given === value ? context : { ...context, faults: [] };
    const repaired = repairers.map(([member, repair]) =>
      repair(given[member], inner, path ? `${path}.${member}` : member),
    );
    if (context.faults.length === known) return value; // nearly always
    const named = repairers.map(([member], at): [string, unknown] => [member, repaired[at]]);
    const rest = Object.entries(given).filter(([member]) => !Object.hasOwn(members, member));
    return Object.fromEntries([...named.filter(([, each]) => each !== undefined), ...rest]);
  };
}

/** An object that is used only when all of it is as expected: a part of it might allow more than the whole. */
export function whole(members: Readonly<Record<string, Repairer>>): Repairer {
  const repair = object(members);
  return (value, context, path) => {
    const known = context.faults.length;
    const repaired = repair(value, context, path);
    return context.faults.length === known ? repaired : repair({}, { ...context, faults: [] }, path);
  };
}
