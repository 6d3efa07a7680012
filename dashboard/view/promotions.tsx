import { useComputed } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import type { EventView } from '../model/views.js';
import { EventList, takeNewest } from './event-list.js';
import { useReading } from './live-items.js';
import { Panel } from './parts.js';

const SHOWN = 30;
const TYPE = 'volume.promoted';

/** Which copies of volumes have taken over, when and why; left out while none has. */
export function Promotions({ session }: { readonly session: OpenSession }) {
  const live = useComputed(() => [...session.events.value.items.values()].filter(({ type }) => type === TYPE));
  const earlier = useReading<{ readonly items: readonly EventView[] }>(
    session,
    `/api/v1/events?limit=500&type=${TYPE}`,
    () => session.tenant.id,
  );
  const all = new Map([...(earlier.value?.items ?? []), ...live.value].map(event => [event.id, event]));
  if (all.size === 0) return null;
  return (
    <Panel title="Promotions">
      <EventList events={takeNewest(all.values(), SHOWN)} />
    </Panel>
  );
}
