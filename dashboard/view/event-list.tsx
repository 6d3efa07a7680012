import type { EventView } from '../model/views.js';
import { Ago, Empty, Foreign } from './parts.js';

const SUBJECT_PAGES: Readonly<Record<string, string>> = { Deployment: 'deployments', Node: 'nodes' };

/** Events, the newest first. */
export function EventList({ events, isBrief }: { readonly events: readonly EventView[]; readonly isBrief?: boolean }) {
  if (events.length === 0) {
    return (
      <Empty title="Nothing has happened yet">
        <p>Events appear here as they happen: deployments that become healthy, nodes that join, rollouts that fail.</p>
      </Empty>
    );
  }
  return (
    <ul class="events">
      {events.map(event => (
        <li key={event.id} class={event.severity === 'warning' ? 'warn' : ''}>
          <span class="event-head">
            <strong>{event.type}</strong>
            {!isBrief && <Subject event={event} />}
            {event.count > 1 && <span class="soft">×{event.count}</span>}
            <Ago at={event.lastSeenAt} />
          </span>
          <span class="event-text">
            <Foreign text={event.message} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Subject({ event: { subject } }: { readonly event: EventView }) {
  const page = SUBJECT_PAGES[subject.kind];
  const text = `${subject.kind.toLowerCase()}/${subject.name}`;
  if (page === undefined) return <Foreign text={text} />;
  return (
    <a href={`#/${page}/${encodeURIComponent(subject.name)}`}>
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
