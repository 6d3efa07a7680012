import { isDeepStrictEqual } from 'node:util';

import { rejectRequest } from '../http/reply.js';
import type { JoinedEntry, WatchFrame } from '../watch/frame.js';
import type { WatchHistory } from '../watch/history.js';
import type { LineWriter } from '../watch/lines.js';
import { type KubernetesObject, toPartial } from './objects.js';
import { formatChangeVersion, formatVersion } from './resource-version.js';
import type { ServedResource } from './served.js';
import { toStatus } from './status.js';
import { buildTable, type Shown, type TableOptions } from './table.js';

/** How a client wants objects: whole, by their metadata, or as rows of a table. */
export type ObjectForm = 'whole' | 'metadata' | TableOptions;

export interface KubernetesLinesOptions {
  readonly served: ServedResource;
  readonly history: WatchHistory;
  readonly selects: (object: KubernetesObject) => boolean;
  readonly form: () => ObjectForm;
  readonly wantsBookmarks: boolean;
  /** The state that the watch starts with is followed by a bookmark that says so. */
  readonly marksOpening: boolean;
  readonly baseUrl: () => string;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Skipped by every client, and keeps those that give up silent connections. */
const HEARTBEAT = Buffer.from('\n');

/** The lines of a watch as Kubernetes writes them. */
export class KubernetesLines implements LineWriter {
  readonly #options: KubernetesLinesOptions;
  #hasTable = false;

  constructor(options: KubernetesLinesOptions) {
    this.#options = options;
  }

  listed(stored: JoinedEntry, revision: number): Buffer | undefined {
    const version = formatVersion(Math.min(toRevision(stored), revision), this.#options.history.epoch);
    return this.#encode(this.#project(stored, version).map(shown => ['ADDED', shown]));
  }

  opened(revision: number): Buffer {
    const initialEnd = { annotations: { 'k8s.io/initial-events-end': 'true' } };
    return this.#options.marksOpening ? this.#bookmark(revision, initialEnd) : HEARTBEAT;
  }

  /** An object that the selector leaves is deleted for the client, and one that enters it is added. */
  changed(frame: WatchFrame): Buffer | undefined {
    const version = formatChangeVersion(frame, this.#options.history.epoch);
    const before = frame.before ? this.#project(frame.before, version) : [];
    const now = this.#project(frame.current, version);
    if (frame.type === 'deleted') return this.#encode(now.map(shown => ['DELETED', shown]));
    const known = new Map(before.map(shown => [shown.object.metadata.name, shown]));
    const isKnown = frame.type === 'modified' && !frame.before; // of what is not cached the state before is unknown
    const lines: [EventType, Shown][] = now.flatMap((shown): [EventType, Shown][] => {
      const former = known.get(shown.object.metadata.name);
      known.delete(shown.object.metadata.name);
      if (former && isDeepStrictEqual(former.object, shown.object)) return [];
      return [[former || isKnown ? 'MODIFIED' : 'ADDED', shown]];
    });
    return this.#encode([...[...known.values()].map((shown): [EventType, Shown] => ['DELETED', shown]), ...lines]);
  }

  idle(): Buffer {
    return this.#options.wantsBookmarks ? this.#bookmark(this.#options.history.revision, {}) : HEARTBEAT;
  }

  gone(): Buffer {
    const refused = rejectRequest('watch_expired', 'resourceVersion', '');
    return encodeLine('ERROR', toStatus(refused, this.#options.baseUrl()));
  }

  #project(stored: JoinedEntry, version: string): readonly Shown[] {
    const { served, selects } = this.#options;
    return served.project(stored, version).filter(({ object }) => selects(object));
  }

  #bookmark(revision: number, more: object): Buffer {
    const { served, history } = this.#options;
    const apiVersion = served.group === '' ? 'v1' : `${served.group}/v1`;
    const metadata = { resourceVersion: formatVersion(revision, history.epoch), creationTimestamp: null, ...more };
    const object = { kind: served.kind, apiVersion, metadata };
    const form = this.#options.form();
    return encodeLine('BOOKMARK', typeof form === 'object' ? this.#table([], metadata, form) : object);
  }

  #encode(events: readonly (readonly [EventType, Shown])[]): Buffer | undefined {
    if (events.length === 0) return undefined;
    const form = this.#options.form();
    return Buffer.concat(
      events.map(([type, shown]) => {
        if (form === 'whole') return encodeLine(type, shown.object);
        if (form === 'metadata') return encodeLine(type, toPartial(shown.object));
        const { resourceVersion } = shown.object.metadata;
        return encodeLine(type, this.#table([shown], { resourceVersion }, form));
      }),
    );
  }

  #table(shown: readonly Shown[], metadata: Readonly<Record<string, unknown>>, form: TableOptions): object {
    const table = buildTable(shown, metadata, form, !this.#hasTable);
    this.#hasTable = true;
    return table;
  }
}

/** The revision of the last change of an object or of what is shown beside it. */
export function toRevision({ entry, joined }: JoinedEntry): number {
  return Math.max(entry.revision, joined?.revision ?? 0);
}

function encodeLine(type: EventType | 'BOOKMARK' | 'ERROR', object: object): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`);
}
