import { defineColumns } from '../kind/index.js';
import type { StoredEvent } from './event.js';

/** What lists show of an event. */
export const eventColumns = defineColumns<StoredEvent>([
  { title: 'LAST SEEN', value: ({ lastSeenAt }) => lastSeenAt, format: 'age' },
  { title: 'TYPE', value: ({ type }) => type, isWarning: ({ severity }) => severity === 'warning' },
  { title: 'SUBJECT', value: ({ subject }) => `${subject.kind.toLowerCase()}/${subject.name}` },
  { title: 'COUNT', isWide: true, value: ({ count }) => String(count) },
  { title: 'REASON', isWide: true, value: ({ reason }) => reason },
  { title: 'MESSAGE', value: ({ message }) => message },
  { title: 'ID', isWide: true, value: ({ id }) => id },
]);
