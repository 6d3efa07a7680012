import { Type } from 'typebox';

import { defineKind } from '../kind/index.js';
import { eventColumns } from './columns.js';

const text = Type.String();
const time = Type.String({ format: 'date-time' });

/** What happened. */
export const eventKind = defineKind({
  kind: 'Event',
  singular: 'event',
  plural: 'events',
  shortNames: [],
  description: 'Something that happened to an object; a cause that lasts is one event with a count.',
  scope: 'tenant',
  range: 'events/',
  keyParts: ['tenant', 'id'],
  answer: Type.Object(
    {
      id: text,
      revision: text,
      type: text,
      at: time,
      lastSeenAt: time,
      count: Type.Integer({ minimum: 0 }),
      tenant: text,
      subject: Type.Object({ kind: text, name: text, id: text }),
      severity: Type.Enum(['info', 'warning'], { type: 'string' }),
      reason: text,
      message: text,
      data: Type.Unsafe<unknown>({ type: 'object' }),
    },
    { description: 'something that happened' },
  ),
  events: [],
  path: '/api/v1/events',
  operations: ['list', 'watch'],
  routes: { list: { summary: 'Lists the tenant’s events, oldest first, or follows them' } },
  nameField: 'id',
  columns: eventColumns,
});
