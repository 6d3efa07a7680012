/** Where in a record a value stands, and what was found wrong so far. */
export interface RepairContext {
  readonly key: string;
  /** Names of members and what they are not. Never quotes a value: it might be secret. */
  readonly faults: string[];
}

/** What a value must be like. */
export interface Repairer {
  /** Whether it is as expected: nearly every record that is read is. */
  readonly isSound: (value: unknown, key: string) => boolean;
  /** Absent is as good as sound. */
  readonly mayBeAbsent?: true;
  /** An equal value where it is sound; elsewhere a substitute, with the fault noted. */
  readonly repair: (value: unknown, context: RepairContext, path: string) => unknown;
}

type Substitute<T> = T | ((key: string) => T);

/** What is named in a key must be able to be a part of one. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;
/** Longer than any text that a record of ours has beside those of a spec. */
const TEXT_MAX = 65_536;

/** A value of one kind. */
export function expect(is: (value: unknown) => boolean, expected: string): <T>(substitute: Substitute<T>) => Repairer {
  return substitute => ({
    isSound: is,
    repair: (value, context, path) => {
      if (is(value)) return value;
      context.faults.push(`${path || 'the document'} is not ${expected}`);
      return typeof substitute === 'function' ? (substitute as (key: string) => unknown)(context.key) : substitute;
    },
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = expect(value => typeof value === 'string' && value.length <= TEXT_MAX, 'a text');
export const name = expect(value => typeof value === 'string' && NAME.test(value), 'a name');
export const count = expect(value => Number.isSafeInteger(value) && (value as number) >= 0, 'a count');
export const flag = expect(value => typeof value === 'boolean', 'true or false');
export const time = expect(isTime, 'a time');

/** A time as we write it. To parse it takes six times as long, and every record has some. */
const WRITTEN_TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

function isTime(value: unknown): boolean {
  return typeof value === 'string' && (WRITTEN_TIME.test(value) || !Number.isNaN(Date.parse(value)));
}

/** What stands in the key at this position after the kind, and nothing else. */
export function segment(position: number, read: (segment: string) => unknown = each => each): Repairer {
  const readOwn = (key: string) => read(readSegment(key, position));
  return {
    isSound: (value, key) => value === readOwn(key),
    repair: (value, context, path) => {
      const own = readOwn(context.key);
      if (value !== own) context.faults.push(`${path} is not what the key says`);
      return own;
    },
  };
}

/** What stands in a key at a position after the kind; '' where it is shorter. */
export function readSegment(key: string, position: number): string {
  let from = key.indexOf('/') + 1;
  for (let passed = 0; passed < position && from > 0; passed++) from = key.indexOf('/', from) + 1;
  if (from === 0) return '';
  const end = key.indexOf('/', from);
  return end < 0 ? key.slice(from) : key.slice(from, end);
}

/** Absent, or as expected: otherwise it is left out. */
export function optional({ isSound, repair }: Repairer): Repairer {
  return {
    mayBeAbsent: true,
    isSound: (value, key) => value === undefined || isSound(value, key),
    repair: (value, context, path) => {
      if (value === undefined) return undefined;
      const known = context.faults.length;
      const repaired = repair(value, context, path);
      return context.faults.length === known ? repaired : undefined;
    },
  };
}

/** A list; what is wrong in it is left out. */
export function list({ isSound, repair }: Repairer): Repairer {
  return {
    isSound: (value, key) => Array.isArray(value) && value.every(each => isSound(each, key)),
    repair: (value, context, path) => {
      if (!Array.isArray(value)) {
        context.faults.push(`${path} is not a list`);
        return [];
      }
      for (const [at, each] of value.entries()) repair(each, context, `${path}[${at}]`);
      return value.filter(each => isSound(each, context.key));
    },
  };
}

/** A map; what is wrong in it is left out. */
export function map({ isSound, repair }: Repairer): Repairer {
  return {
    isSound: (value, key) => {
      if (!isObject(value)) return false;
      for (const member in value) if (!isSound(value[member], key)) return false;
      return true;
    },
    repair: (value, context, path) => {
      if (!isObject(value)) {
        context.faults.push(`${path} is not a map`);
        return {};
      }
      for (const each of Object.values(value)) repair(each, context, `a value of ${path}`);
      return Object.fromEntries(Object.entries(value).filter(([, each]) => isSound(each, context.key)));
    },
  };
}

/** An object; each member is repaired by itself, in this order, and members that are not named here stay as they are. */
export function object(members: Readonly<Record<string, Repairer>>): Repairer {
  const repairers = Object.entries(members);
  const checks = new Map(repairers.map(([member, { isSound, mayBeAbsent }]) => [member, { isSound, mayBeAbsent }]));
  const required = repairers.filter(([, { mayBeAbsent }]) => !mayBeAbsent);
  return {
    // Every record that is read comes through here. Most of what it may have is absent, and is not looked for.
    isSound: (value, key) => {
      if (!isObject(value)) return false;
      let present = 0;
      for (const member in value) {
        const check = checks.get(member);
        if (check === undefined) continue;
        if (!check.isSound(value[member], key)) return false;
        if (!check.mayBeAbsent) present++;
      }
      return present === required.length || required.every(([member, { isSound }]) => isSound(value[member], key));
    },
    repair: (value, context, path) => {
      if (!isObject(value)) context.faults.push(`${path || 'the document'} is not an object`);
      const given = isObject(value) ? value : {};
      // What no object has is one fault, not one of each member.
      const inner = given === value ? context : { ...context, faults: [] };
      const repaired = repairers.map(([member, { repair }]): [string, unknown] => [
        member,
        repair(given[member], inner, path ? `${path}.${member}` : member),
      ]);
      const rest = Object.entries(given).filter(([member]) => !Object.hasOwn(members, member));
      return Object.fromEntries([...repaired.filter(([, each]) => each !== undefined), ...rest]);
    },
  };
}

/** An object that is used only when all of it is as expected: a part of it might allow more than the whole. */
export function whole(members: Readonly<Record<string, Repairer>>): Repairer {
  const { isSound, repair } = object(members);
  return {
    isSound,
    repair: (value, context, path) => {
      const repaired = repair(value, context, path);
      return isSound(value, context.key) ? repaired : repair({}, { ...context, faults: [] }, path);
    },
  };
}
