import { isDeepStrictEqual } from 'node:util';

import { rejectRequest } from '../http/reply.js';
import type { JoinedEntry, WatchFrame } from '../watch/frame.js';
import type { WatchHistory } from '../watch/history.js';
import type { LineWriter } from '../watch/lines.js';
import { type KubernetesObject, toPartial } from './objects.js';
import { formatChangeVersion, formatVersion } from './resource-version.js';
import type { ServedResource } from './served.js';
import { toStatus } from './status.js';
import { buildTable, type RenderedObject, type TableOptions } from './table.js';

/** How a client wants objects: whole, by their metadata, or as rows of a table. */
export type ObjectForm = 'whole' | 'metadata' | TableOptions;

export interface KubernetesLinesOptions {
  readonly served: ServedResource;
  readonly history: WatchHistory;
  readonly selects: (object: KubernetesObject) => boolean;
  /** Which stored objects the caller may see. */
  readonly isVisible: (key: string) => boolean;
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
    return this.#encode(this.#project(stored, version).map(rendered => ['ADDED', rendered]));
  }

  opened(revision: number): Buffer {
    const initialEnd = { annotations: { 'k8s.io/initial-events-end': 'true' } };
    return this.#options.marksOpening ? this.#bookmark(revision, initialEnd) : HEARTBEAT;
  }

  /** An object that the selector leaves is deleted for the client, and one that enters it is added. */
  changed(frame: WatchFrame): Buffer | undefined {
    const { served, selects, isVisible, history } = this.#options;
    if (!isVisible(frame.current.entry.key)) return undefined;
    const { gone, now } = projectFrame(served, frame, formatChangeVersion(frame, history.epoch));
    const toDeleted = (rendered: RenderedObject): [EventType, RenderedObject][] =>
      selects(rendered.object) ? [['DELETED', rendered]] : [];
    if (frame.type === 'deleted') return this.#encode(now.flatMap(({ rendered }) => toDeleted(rendered)));
    const isKnown = frame.type === 'modified' && !frame.before; // of what is not cached the state before is unknown
    const lines = now.flatMap(({ rendered, former, isSame }): [EventType, RenderedObject][] => {
      if (!selects(rendered.object)) return former ? toDeleted(former) : [];
      const wasSelected = former !== undefined && selects(former.object);
      if (wasSelected && isSame) return [];
      return [[wasSelected || isKnown ? 'MODIFIED' : 'ADDED', rendered]];
    });
    return this.#encode([...gone.flatMap(toDeleted), ...lines]);
  }

  idle(): Buffer {
    return this.#options.wantsBookmarks ? this.#bookmark(this.#options.history.revision, {}) : HEARTBEAT;
  }

  gone(): Buffer {
    const refused = rejectRequest('watch_expired', 'resourceVersion', '');
    return encodeLine('ERROR', toStatus(refused, this.#options.baseUrl()));
  }

  #project(stored: JoinedEntry, version: string): readonly RenderedObject[] {
    const { served, selects, isVisible } = this.#options;
    if (!isVisible(stored.entry.key)) return [];
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

  #encode(events: readonly (readonly [EventType, RenderedObject])[]): Buffer | undefined {
    if (events.length === 0) return undefined;
    const form = this.#options.form();
    const lines = events.map(([type, rendered]) => {
      if (form === 'whole' || form === 'metadata') return encodeShared(type, rendered, form);
      const { resourceVersion } = rendered.object.metadata;
      return encodeLine(type, this.#table([rendered], { resourceVersion }, form));
    });
    return lines.length === 1 ? lines[0] : Buffer.concat(lines);
  }

  #table(rendered: readonly RenderedObject[], metadata: Readonly<Record<string, unknown>>, form: TableOptions): object {
    const table = buildTable(rendered, metadata, form, !this.#hasTable);
    this.#hasTable = true;
    return table;
  }
}

/** What a frame is to every watch of a resource, whatever it selects. */
interface ProjectedFrame {
  /** Objects that were there before it. */
  readonly gone: readonly RenderedObject[];
  readonly now: readonly {
    readonly rendered: RenderedObject;
    readonly former: RenderedObject | undefined;
    readonly isSame: boolean;
  }[];
}

/** A resource has hundreds of watches, and all are sent one frame before the next one comes. */
const FRAMES_KEPT = 8;
const projected = new WeakMap<ServedResource, Map<WatchFrame, ProjectedFrame>>();
const encoded = new WeakMap<RenderedObject, Map<string, Buffer>>();

function projectFrame(served: ServedResource, frame: WatchFrame, version: string): ProjectedFrame {
  const frames = projected.get(served) ?? new Map<WatchFrame, ProjectedFrame>();
  projected.set(served, frames);
  const made = frames.get(frame);
  if (made) return made;
  const before = frame.before ? served.project(frame.before, version) : [];
  const known = new Map(before.map(rendered => [rendered.object.metadata.name, rendered]));
  const now = served.project(frame.current, version).map(rendered => {
    const former = known.get(rendered.object.metadata.name);
    known.delete(rendered.object.metadata.name);
    return { rendered, former, isSame: former !== undefined && isDeepStrictEqual(former.object, rendered.object) };
  });
  const result = { gone: [...known.values()], now };
  const [oldest] = frames.keys();
  if (oldest && frames.size >= FRAMES_KEPT) frames.delete(oldest);
  frames.set(frame, result);
  return result;
}

/** The same bytes for every watch that is sent the same event. */
function encodeShared(type: EventType, rendered: RenderedObject, form: 'whole' | 'metadata'): Buffer {
  const lines = encoded.get(rendered) ?? new Map<string, Buffer>();
  encoded.set(rendered, lines);
  const key = `${type} ${form}`;
  const line = lines.get(key) ?? encodeLine(type, form === 'whole' ? rendered.object : toPartial(rendered.object));
  lines.set(key, line);
  return line;
}

/** The revision of the last change of an object or of what is shown beside it. */
export function toRevision({ entry, joined }: JoinedEntry): number {
  return Math.max(entry.revision, joined?.revision ?? 0);
}

function encodeLine(type: EventType | 'BOOKMARK' | 'ERROR', object: object): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`);
}
