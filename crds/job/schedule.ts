import { Type } from 'typebox';

import { annotate, type Field, isBroken, type Relation, rule } from '../rule/index.js';
import type { WorkloadCompletion, WorkloadContext } from '../workload/index.js';
import type { RestartPolicy } from './job.js';
import { isTimeZone, parseSchedule, SCHEDULED_NAME_MAX } from './ticks.js';

/** What the completion of a job may look at. */
export interface JobCompletion extends WorkloadCompletion {
  /** Whether the document has a schedule. */
  readonly isScheduled: boolean;
  /** As it was sent. */
  readonly restartPolicy: RestartPolicy | undefined;
}

/** The zone of a schedule that names none: never that of the machine of the controllers. */
const TIME_ZONE = 'UTC';
const CONCURRENCY_POLICY = 'Allow';

const value = '(?:\\*|[0-9]{1,2}|[A-Za-z]{3})';
const part = `${value}(?:-${value})?(?:/[0-9]{1,2})?`;
const field = `${part}(?:,${part}){0,59}`;
const words = '@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)';
const EXPECTED =
  'minute, hour, day of month, month and day of week of cron, such as "0 3 * * *" or "*/15 8-18 * * MON-FRI", or a word such as @daily';

const scheduleSchema = Type.String({
  pattern: `^(?:${words}|${field}(?: ${field}){4})$`,
  ...annotate({ 'x-expected': EXPECTED }),
});
const timeZoneSchema = Type.String({
  pattern: '^[A-Za-z][0-9A-Za-z_+/-]{0,63}$',
  ...annotate({ 'x-expected': 'a time zone such as Europe/Berlin' }),
});

/** Croner searches until the year 3000: forty years have every day that there is, and a thousand would cost 20 ms of a request. */
const SEARCHED_FROM = Date.UTC(2960, 0, 1);

/** In UTC: whether an expression ever comes true does not depend on the zone. */
const isCron = rule('field_invalid', (schedule: string, at, refuse) => {
  const ticks = parseSchedule(schedule, TIME_ZONE);
  if (!ticks) return refuse(at, schedule, { wanted: EXPECTED });
  const isEver = ticks.findNext(SEARCHED_FROM) !== undefined;
  return isEver ? undefined : refuse(at, schedule, { wanted: 'days that some year has: none has these' });
});

const zoneIsKnown = rule('field_invalid', (timeZone: string, at, refuse) =>
  isTimeZone(timeZone) ? undefined : refuse(at, timeZone, { wanted: 'a time zone such as Europe/Berlin' }),
);

const needsSchedule = (field: 'timeZone' | 'concurrencyPolicy'): Relation => ({
  field,
  forbidden: { all: [{ has: field }, { not: { has: 'schedule' } }] },
  wanted: 'nothing, unless the job has a schedule',
});

/** What the fields of a schedule may not say together. */
export const scheduleRelations = [needsSchedule('timeZone'), needsSchedule('concurrencyPolicy')] as const;
const [zoneNeedsSchedule, policyNeedsSchedule] = scheduleRelations;

const onlyWithSchedule = (relation: Relation) =>
  rule('field_invalid', (sent: unknown, at, refuse, { document, isWhole }: WorkloadContext) =>
    isBroken(relation, document) && isWhole('schedule') ? refuse(at, sent, { wanted: relation.wanted }) : undefined,
  );

/** The runs of a job are named after it. */
export const scheduledNameRules = {
  field: 'name',
  with: ['schedule'],
  present: [
    rule('deployment_name_too_long', (name: string, at, refuse, { document }: WorkloadContext) =>
      document['schedule'] !== undefined && name.length > SCHEDULED_NAME_MAX
        ? refuse(at, name, { max: SCHEDULED_NAME_MAX })
        : undefined,
    ),
  ],
};

/** The fields that say when a job runs, if not at once. */
export const scheduleFields = {
  schedule: { schema: scheduleSchema, rules: [{ field: 'schedule', present: [isCron] }] },
  timeZone: {
    schema: timeZoneSchema,
    rules: [{ field: 'timeZone', with: ['schedule'], present: [onlyWithSchedule(zoneNeedsSchedule), zoneIsKnown] }],
    isComputed: true,
    complete: (sent: string | undefined, announce, { isScheduled }: JobCompletion) => {
      if (sent === undefined && isScheduled) announce('timeZone', null, TIME_ZONE, 'default');
      return sent ?? (isScheduled ? TIME_ZONE : undefined);
    },
  },
  concurrencyPolicy: {
    schema: Type.Enum(['Allow', 'Forbid', 'Replace'], { type: 'string' }),
    rules: [{ field: 'concurrencyPolicy', with: ['schedule'], present: [onlyWithSchedule(policyNeedsSchedule)] }],
    isComputed: true,
    complete: (sent: string | undefined, announce, { isScheduled }: JobCompletion) => {
      if (sent === undefined && isScheduled) announce('concurrencyPolicy', null, CONCURRENCY_POLICY, 'default');
      return sent ?? (isScheduled ? CONCURRENCY_POLICY : undefined);
    },
  },
} as const satisfies Readonly<Record<string, Field<WorkloadContext, JobCompletion>>>;
