import { Type } from 'typebox';

import { parseDuration } from '../grammar/index.js';
import { type Announce, annotate, type FieldRules, fixByValue, rule } from '../rule/index.js';
import { WORDS_MAX, wordSchema } from '../workload/index.js';
import type { DeploymentContext, HealthCheck } from './deployment.js';

const RETRIES_MAX = 1000;
const LONGEST = '24h';
const byRules = annotate({ 'x-rules': true });

export const healthCheckSchema = Type.Object(
  {
    type: Type.Optional(Type.Literal('exec', byRules)),
    // Its absence is refused by the rules: it has another code without a type than with one.
    command: Type.Optional(Type.Array(wordSchema, { maxItems: WORDS_MAX, ...byRules })),
    retries: Type.Optional(Type.Integer({ maximum: RETRIES_MAX, ...byRules })),
    timeout: Type.Optional(Type.String(byRules)),
    interval: Type.Optional(Type.String(byRules)),
    startPeriod: Type.Optional(Type.String(byRules)),
  },
  { additionalProperties: false, ...annotate({ 'x-expected': 'an object with type exec and a command' }) },
);

/** A health check as a client may send it: nothing is known of its parts yet. */
type SentHealthCheck = { readonly [Part in keyof HealthCheck]?: unknown };

/** `null` removes a field, so it is none. */
function isMissing(command: unknown): command is null | undefined {
  return command === undefined || command === null;
}

const INERT = new Set(['', 'none', 'disabled']);

const typeIsNotInert = rule('healthcheck_type_inert', ({ type, command }: SentHealthCheck, at, refuse) => {
  const named = typeof type === 'string' && INERT.has(type.trim().toLowerCase());
  const none = Array.isArray(command) && command.length === 1 && command[0] === 'NONE';
  const empty = type === undefined && isMissing(command);
  return named || none || empty ? refuse(at.child('type'), none && !named ? command : type) : undefined;
});

const typeIsExec = rule('healthcheck_type_unsupported', ({ type }: SentHealthCheck, at, refuse) =>
  type === undefined || type === 'exec' ? undefined : refuse(at.child('type'), type),
);

const commandIsList = rule('field_invalid', ({ command }: SentHealthCheck, at, refuse) => {
  if (isMissing(command) || Array.isArray(command)) return undefined;
  const place = at.child('command');
  const wanted = 'a list of strings: one element holding a shell line, or one element per argument';
  const error = refuse(place, command, { wanted });
  if (typeof command !== 'string' || command.trim() === '') return error;
  return fixByValue(error, [command]);
});

const commandIsThere = rule('healthcheck_command_missing', ({ type, command }: SentHealthCheck, at, refuse) => {
  // Without a type there is a complaint about the type already.
  if (isMissing(command)) return type === 'exec' ? refuse(at.child('command'), command) : undefined;
  return Array.isArray(command) && command.every(isBlank) ? refuse(at.child('command'), command) : undefined;
});

function isBlank(word: unknown): boolean {
  return typeof word === 'string' && word.trim() === '';
}

const retriesMeetFloor = rule(
  'healthcheck_retries_below_floor',
  ({ retries }: SentHealthCheck, at, refuse, { limits }: DeploymentContext) => {
    if (retries === undefined) return undefined;
    if (Number.isInteger(retries) && (retries as number) >= limits.retriesFloor) return undefined;
    return refuse(at.child('retries'), retries, { floor: limits.retriesFloor });
  },
);

const timeoutMeetsFloor = rule(
  'healthcheck_timeout_below_floor',
  ({ timeout }: SentHealthCheck, at, refuse, { limits }: DeploymentContext) => {
    if (timeout === undefined) return undefined;

    // A duration that cannot be read is below every floor.
    const asked = typeof timeout === 'string' ? (parseDuration(timeout) ?? 0) : 0;
    if (asked >= (parseDuration(limits.timeoutFloor) ?? 0)) return undefined;
    return refuse(at.child('timeout'), timeout, { floor: limits.timeoutFloor });
  },
);

const checkRange = (part: 'timeout' | 'interval' | 'startPeriod', shortest: string) => {
  const [least, most] = [parseDuration(shortest)!, parseDuration(LONGEST)!];
  return rule('field_invalid', (check: SentHealthCheck, at, refuse) => {
    const value = check[part];
    if (value === undefined) return undefined;
    const asked = typeof value === 'string' ? parseDuration(value) : undefined;
    const within = asked !== undefined && asked >= least && asked <= most;
    return within ? undefined : refuse(at.child(part), value, { wanted: `a duration from ${shortest} to ${LONGEST}` });
  });
};

/** In the order a client should learn of them: what is missing before what is out of bounds. */
export const healthCheckRules: FieldRules<DeploymentContext> = {
  field: 'healthCheck',
  present: [
    typeIsNotInert,
    typeIsExec,
    commandIsList,
    commandIsThere,
    retriesMeetFloor,
    timeoutMeetsFloor,
    checkRange('timeout', '0s'),
    checkRange('interval', '1s'),
    checkRange('startPeriod', '0s'),
  ],
};

const waitersCanSeeIt = rule(
  'health_check_needed',
  (check: undefined, at, refuse, { facts, name, stored }: DeploymentContext) => {
    // One that stands without a check was accepted so: an unrelated change of it is not stopped.
    if (stored !== undefined && stored['healthCheck'] === undefined) return undefined;
    const waiting = facts.deployments.filter(({ dependsOn }) =>
      dependsOn.some(dependency => dependency.name === name && dependency.condition === 'healthy'),
    );
    return waiting.length === 0 ? undefined : refuse(at, check, { users: waiting.map(waiter => waiter.name) });
  },
);

/** A check that others wait for must be there: it may change, but not go. */
export const waitersRules: FieldRules<DeploymentContext> = {
  field: 'healthCheck',
  absent: waitersCanSeeIt,
  present: [],
};

/** A health check that the rules have passed. */
export type HealthCheckInput = Omit<HealthCheck, 'type'> & { readonly type?: 'exec' };

/** The check to store: its type filled in, announced. */
export function completeHealthCheck(check: HealthCheckInput, announce: Announce): HealthCheck {
  if (check.type === undefined) announce('healthCheck.type', null, 'exec', 'a check with a command is an exec check');
  return { ...check, type: 'exec' };
}
