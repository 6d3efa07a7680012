import type { ServerResponse } from 'node:http';

import type { ObjectChange, Objects, ResourcePlace, StoredObject } from './objects.js';

interface ClusterWatch {
  readonly place: ResourcePlace;
  readonly query: URLSearchParams;
  readonly isSelected: (object: StoredObject) => boolean;
  readonly present: (object: StoredObject) => object;
}

/** Answers a watch: what is there when no revision is named, then each change, until the client goes or its time is over. */
export function answerWatch(objects: Objects, response: ServerResponse, watched: ClusterWatch): void {
  const { place, query, isSelected, present } = watched;
  const send = (type: string, object: object) => response.write(`${JSON.stringify({ type, object })}\n`);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();

  const from = query.get('resourceVersion') ?? '';
  let seen = Number(from);
  if (from === '' || from === '0') {
    seen = objects.revision;
    for (const object of objects.list(place).filter(isSelected)) send('ADDED', present(object));
  }
  const follow = () => {
    const changes = objects.since(seen);
    if (!changes) {
      send('ERROR', {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'Expired',
        code: 410,
        message: 'too old',
      });
      response.end();
      return;
    }
    for (const change of changes.filter(({ place: at }) => isWithin(at, place))) {
      const type = judge(change, isSelected);
      if (type) send(type, present(change.object));
    }
    seen = objects.revision;
  };
  const stop = objects.listen(follow);
  const seconds = Number(query.get('timeoutSeconds') ?? 300);
  const timer = setTimeout(() => {
    if (query.get('allowWatchBookmarks') === 'true') {
      send('BOOKMARK', present({ metadata: { resourceVersion: String(seen) } } as StoredObject));
    }
    response.end();
  }, seconds * 1000);
  response.on('close', () => {
    stop();
    clearTimeout(timer);
  });
  follow();
}

/** An object that is no longer selected is deleted for who watches the selection. */
function judge(
  { type, object, before }: ObjectChange,
  isSelected: ClusterWatch['isSelected'],
): ObjectChange['type'] | undefined {
  const was = before !== undefined && isSelected(before);
  if (type === 'DELETED') return was ? 'DELETED' : undefined;
  if (isSelected(object)) return was ? 'MODIFIED' : 'ADDED';
  return was ? 'DELETED' : undefined;
}

function isWithin(at: ResourcePlace, { group, plural, namespace }: ResourcePlace): boolean {
  return at.group === group && at.plural === plural && (namespace === '' || at.namespace === namespace);
}
