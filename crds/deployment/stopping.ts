import { Type } from 'typebox';

import { parseDuration } from '../grammar/index.js';
import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { Deployment, DeploymentContext } from './deployment.js';

const byRules = annotate({ 'x-rules': true });

/** The longest time between the signal to end and the kill. */
const LONGEST_GRACE = '1h';
const LONGEST_GRACE_MS = parseDuration(LONGEST_GRACE)!;

export const stopGracePeriodSchema = Type.String(byRules);

const graceIsSound = rule('field_invalid', (sent: unknown, at, refuse) => {
  const asked = typeof sent === 'string' ? parseDuration(sent) : undefined;
  if (asked !== undefined && asked <= LONGEST_GRACE_MS) return undefined;
  return refuse(at, sent, { wanted: `a duration from 0s to ${LONGEST_GRACE}` });
});

export const stopGracePeriodRules: FieldRules<DeploymentContext> = {
  field: 'stopGracePeriod',
  present: [graceIsSound],
};

const ARGUMENTS_MAX = 64;

export const preStopSchema = Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
  minItems: 1,
  maxItems: ARGUMENTS_MAX,
  ...annotate({ 'x-expected': `a command: a list of 1 to ${ARGUMENTS_MAX} arguments` }),
});

export const preStopRules: FieldRules<DeploymentContext> = { field: 'preStop', present: [] };

export const restartedAtSchema = Type.String({
  pattern: '^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?Z$',
  ...annotate({ 'x-expected': 'a time such as 2026-01-31T12:00:00.000Z' }),
});

export const restartedAtRules: FieldRules<DeploymentContext> = { field: 'restartedAt', present: [] };

/** The time between the signal to end and the kill, in seconds; undefined: that of the agent. */
export function getStopGrace({ stopGracePeriod }: Pick<Deployment, 'stopGracePeriod'>): number | undefined {
  const ms = stopGracePeriod === undefined ? undefined : parseDuration(stopGracePeriod);
  return ms === undefined ? undefined : Math.ceil(ms / 1000);
}
