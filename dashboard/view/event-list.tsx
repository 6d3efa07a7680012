import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { holdEvents } from '../model/held-events.js';
import { findObjectHref } from '../model/places.js';
import { showControls } from '../model/text.js';
import type { EventView } from '../model/views.js';
import { Ago, Empty, Foreign } from './parts.js';

/** Events, the newest first. */
export function EventList({ events, isBrief }: { readonly events: readonly EventView[]; readonly isBrief?: boolean }) {
  if (events.length === 0) return <NoEvents />;
  return (
    <ul class="events">
      {events.map(event => (
        <EventItem key={event.id} event={event} isBrief={isBrief} />
      ))}
    </ul>
  );
}

/**
 * Events that stay what they are while someone points at one or has moved there with the keyboard, until something else is asked
 * for, and how many are newer.
 */
export function useHeldEvents(events: readonly EventView[], asked = '') {
  const isHeld = useSignal(false);
  const now = { events, asked };
  const stood = useRef(now);
  stood.current = holdEvents(stood.current, now, isHeld.value);
  const drawn = stood.current.events;
  const known = new Set(drawn.map(({ id }) => id));
  const hold = () => (isHeld.value = true);
  const release = () => (isHeld.value = false);
  return {
    drawn,
    newer: events.filter(({ id }) => !known.has(id)).length,
    handlers: { onPointerEnter: hold, onPointerLeave: release, onFocusIn: hold, onFocusOut: release },
  };
}

/** The newest events in rows that stand still: what they say changes, one line each and no more. */
export function SteadyEvents({ events, rows }: { readonly events: readonly EventView[]; readonly rows: number }) {
  const { drawn, newer, handlers } = useHeldEvents(events);
  return (
    <div {...handlers}>
      <div style={{ minHeight: `${rows * ROW_REM}rem` }}>
        {drawn.length === 0 && <NoEvents />}
        <ul class="events steady-events">
          {drawn.map((event, at) => (
            <EventItem key={at} event={event} />
          ))}
        </ul>
      </div>
      <p class={newer > 0 ? 'soft' : 'unseen'}>
        {newer === rows ? `${rows} or more` : newer} newer: shown when you point elsewhere
      </p>
    </div>
  );
}

/** The height of a row in the style sheet. */
const ROW_REM = 3.6;

function NoEvents() {
  return (
    <Empty title="Nothing has happened yet">
      <p>Events appear here as they happen: deployments that become healthy, nodes that join, rollouts that fail.</p>
    </Empty>
  );
}

function EventItem({ event, isBrief }: { readonly event: EventView; readonly isBrief?: boolean | undefined }) {
  const { type, severity, count, lastSeenAt, message } = event;
  return (
    <li class={severity === 'warning' ? 'warn' : ''}>
      <span class="event-head">
        <strong>{type}</strong>
        {!isBrief && <Subject event={event} />}
        {count > 1 && <span class="soft">×{count}</span>}
        <Ago at={lastSeenAt} />
      </span>
      <span class="event-text" title={showControls(message)}>
        <Foreign text={message} />
      </span>
    </li>
  );
}

function Subject({ event: { subject } }: { readonly event: EventView }) {
  const href = findObjectHref(subject);
  const text = `${subject.kind.toLowerCase()}/${subject.name}`;
  if (href === undefined) return <Foreign text={text} />;
  return (
    <a href={href}>
      <Foreign text={text} />
    </a>
  );
}

/** The newest of some events. */
export function takeNewest(events: Iterable<EventView>, count: number): readonly EventView[] {
  return [...events]
    .sort((a, b) => (a.lastSeenAt < b.lastSeenAt ? 1 : a.lastSeenAt > b.lastSeenAt ? -1 : 0))
    .slice(0, count);
}
