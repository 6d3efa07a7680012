import { type Static, Type } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import type { Rejection } from '../rejections/index.js';
import {
  annotate,
  type Announce,
  attachFix,
  type FieldError,
  type FieldRules,
  forEachEntry,
  rule,
  type Warning,
} from '../rule/index.js';
import type { Dependency, DeploymentContext, DeploymentFacts } from './deployment.js';

const DEPENDENCIES_MAX = 32;

export const dependsOnSchema = Type.Array(
  Type.Object(
    {
      // A name that could not be a deployment's would break the key that the loops build of it.
      name: Type.String({
        pattern: '^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$',
        ...annotate({ 'x-expected': 'the name of a deployment' }),
      }),
      condition: Type.Optional(Type.Enum(['healthy', 'started'], { type: 'string' })),
    },
    { additionalProperties: false, ...annotate({ 'x-expected': 'an object with name and condition' }) },
  ),
  {
    maxItems: DEPENDENCIES_MAX,
    ...annotate({ 'x-expected': `a list of at most ${DEPENDENCIES_MAX} objects with name and condition` }),
  },
);

/** Dependencies as a client sends them, in the form of a list. */
export type DependenciesInput = Static<typeof dependsOnSchema>;

/** An entry of which only the shape that it has is known. */
type Loose = Partial<DependenciesInput[number]>;

const othersOnly = rule('depends_on_self', ({ name }: Loose, at, refuse, context: DeploymentContext) =>
  name === context.name ? attachFix(refuse(at.child('name'), name), { op: 'remove', path: at.toPointer() }) : undefined,
);

const eachOnce = rule('depends_on_duplicate', (entries: readonly Loose[], at, refuse) =>
  entries.flatMap(({ name }, position) =>
    name === undefined || entries.findIndex(entry => entry.name === name) === position
      ? []
      : refuse(at.index(position).child('name'), name),
  ),
);

const healthCanBeSeen = rule('depends_on_no_health_check', (entry: Loose, at, refuse, { facts }: DeploymentContext) => {
  const target = facts.deployments.find(({ name }) => name === entry.name);
  if (!target || target.hasHealthCheck || entry.condition === 'started') return undefined;
  return refuse(at.child('name'), entry.name);
});

const noWayBack = rule(
  'depends_on_cycle',
  (entry: Loose, at, refuse, { facts, name }: DeploymentContext): FieldError | undefined => {
    if (entry.name === undefined || entry.name === name) return undefined;
    const way = wayTo(name, entry.name, facts);
    return way && refuse(at.child('name'), entry.name, { cycle: [name, ...way] });
  },
);

/** The names from one deployment to another along what each waits for; undefined when there is no way. */
function wayTo(goal: string, start: string, { deployments }: DeploymentFacts): readonly string[] | undefined {
  const waitsFor = new Map(deployments.map(({ name, dependsOn }) => [name, dependsOn]));
  const from = new Map<string, string | undefined>([[start, undefined]]);
  // Breadth first, so that the cycle named is the shortest one.
  for (const name of from.keys()) {
    if (name === goal) return traced(name, from);
    for (const next of waitsFor.get(name) ?? []) if (!from.has(next.name)) from.set(next.name, name);
  }
  return undefined;
}

function traced(end: string, from: ReadonlyMap<string, string | undefined>): readonly string[] {
  const way: string[] = [];
  for (let name: string | undefined = end; name !== undefined; name = from.get(name)) way.unshift(name);
  return way;
}

export const dependsOnRules: FieldRules<DeploymentContext> = {
  field: 'dependsOn',
  present: [forEachEntry(othersOnly), eachOnce, forEachEntry(noWayBack), forEachEntry(healthCanBeSeen)],
};

const AT = FieldPath.root.child('dependsOn');

/** The dependencies to store: the condition filled in, announced. */
export function completeDependencies(sent: DependenciesInput, announce: Announce): readonly Dependency[] {
  return sent.map(({ name, condition }, position) => {
    if (condition === undefined) announce(AT.index(position).child('condition'), null, 'healthy', 'default');
    return { name, condition: condition ?? 'healthy' };
  });
}

/** Dependencies that are not there yet: the deployment is stored, and waits. */
export function warnDependencies(
  dependencies: readonly Dependency[] | undefined,
  { deployments }: DeploymentFacts,
): readonly Warning[] {
  return (dependencies ?? []).flatMap(({ name }, position) => {
    if (deployments.some(deployment => deployment.name === name)) return [];
    const message = `there is no deployment ${name} yet: this one waits for it`;
    return [{ code: 'dependency_absent', field: AT.index(position).child('name').toString(), message }];
  });
}

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
