import type { Rejection } from '../rejections/index.js';

type Fields = Readonly<Record<string, unknown>>;

/** `dependsOn` as a list, and how to speak of it to a client who sent a map. */
export interface DependencyList {
  readonly fields: Fields;
  /** What was sent, when it was a map. */
  readonly map?: Fields;
  /** The same rejections, at the places where the client finds them. */
  readonly asSent: (rejections: readonly Rejection[]) => readonly Rejection[];
}

/** Brings the map form `{db: healthy}` into the form of a list, so that there is one form to judge. */
export function normalizeDependencies(fields: Fields): DependencyList {
  const map = fields['dependsOn'];
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return { fields, asSent: found => found };
  const dependsOn = Object.entries(map).map(([name, condition]) => ({ name, condition: condition as unknown }));
  const names = dependsOn.map(({ name }) => name);
  return {
    fields: { ...fields, dependsOn },
    map: map as Fields,
    asSent: found => firstOfEach(found.map(rejection => renamed(rejection, names))),
  };
}

/** A patch would be one of the list, so it goes. */
function renamed(rejection: Rejection, names: readonly string[]): Rejection {
  const position = /^dependsOn\[(\d+)\]/.exec(rejection.field)?.[1];
  if (position === undefined) return rejection;
  const { fix: _, ...rest } = rejection;
  return { ...rest, field: `dependsOn.${names[Number(position)]}` };
}

/** Name and condition of an entry are one place in a map. */
function firstOfEach(rejections: readonly Rejection[]): readonly Rejection[] {
  return rejections.filter(({ field }, position) => rejections.findIndex(other => other.field === field) === position);
}
