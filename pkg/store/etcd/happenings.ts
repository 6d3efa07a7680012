import type { IEvent } from 'etcd3';

import type { Happening, Revision } from '../store.js';

/** Events of a watch as happenings, one list for each revision, in order. Nothing below `from` is told again. */
export function byRevision(events: readonly IEvent[], stem: string, from: Revision): Happening[][] {
  const revisions: Happening[][] = [];
  let current: Happening[] = [];
  for (const event of events) {
    const revision = Number(event.kv.mod_revision);
    if (revision < from) continue;
    if (current[0]?.revision !== revision) {
      current = [];
      revisions.push(current);
    }
    current.push(happening(event, stem, revision, current.length));
  }
  return revisions;
}

function happening({ type, kv }: IEvent, stem: string, revision: Revision, position: number): Happening {
  const key = kv.key.toString('utf8').slice(stem.length);
  const deleted = type.toLowerCase() === 'delete';
  const entry = deleted ? undefined : { key, bytes: kv.value, revision, created: Number(kv.create_revision) };
  return { revision, position, key, entry };
}
