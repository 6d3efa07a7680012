import { randomUUID } from 'node:crypto';

/** An object as the stand-in keeps it. */
export interface StoredObject {
  apiVersion?: string;
  kind?: string;
  metadata: StoredMeta;
  spec?: unknown;
  status?: unknown;
  [part: string]: unknown;
}

export interface StoredMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: { uid: string }[];
  [part: string]: unknown;
}

/** Where objects of one resource are: `/apis/<group>/<version>/namespaces/<namespace>/<plural>`. */
export interface ResourcePlace {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Empty for an object of the cluster, and for a list over all namespaces. */
  readonly namespace: string;
}

export interface ObjectChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly place: ResourcePlace;
  readonly object: StoredObject;
  /** The object as it was before, unless it is new. */
  readonly before?: StoredObject;
}

/** What a request is refused with, as Kubernetes says it. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

interface LocatedObject {
  readonly place: ResourcePlace;
  object: StoredObject;
}

/** The objects of a cluster, with the rules that all resources of Kubernetes share. */
export class Objects {
  readonly #kept = new Map<string, LocatedObject>();
  readonly #listeners = new Set<() => void>();
  #changes: ObjectChange[] = [];
  #revision = 100;
  #forgotten = 100;

  get revision(): number {
    return this.#revision;
  }

  list({ group, plural, namespace }: ResourcePlace): readonly StoredObject[] {
    const isListed = ({ place }: LocatedObject) =>
      place.group === group && place.plural === plural && (namespace === '' || place.namespace === namespace);
    const listed = [...this.#kept].filter(([, kept]) => isListed(kept));
    return listed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, { object }]) => object);
  }

  find(place: ResourcePlace, name: string): StoredObject | undefined {
    return this.#kept.get(formatKey(place, name))?.object;
  }

  get(place: ResourcePlace, name: string): StoredObject {
    const found = this.find(place, name);
    if (!found) throw new StatusError(404, 'NotFound', `${place.plural} "${name}" not found`);
    return found;
  }

  create(place: ResourcePlace, sent: Partial<StoredObject>): StoredObject {
    const { name: given, generateName } = (sent.metadata ?? {}) as { name?: string; generateName?: string };
    const name = given ?? (generateName === undefined ? undefined : `${generateName}${randomUUID().slice(0, 5)}`);
    if (name === undefined) throw new StatusError(422, 'Invalid', 'metadata.name: Required value');
    const key = formatKey(place, name);
    if (this.#kept.has(key)) throw new StatusError(409, 'AlreadyExists', `${place.plural} "${name}" already exists`);
    const metadata: StoredMeta = {
      ...sent.metadata,
      name,
      ...(place.namespace !== '' && { namespace: place.namespace }),
      uid: randomUUID(),
      resourceVersion: '',
      generation: 1,
      creationTimestamp: now(),
    };
    const { status: _status, ...rest } = sent;
    const object: StoredObject = { ...rest, metadata };
    this.#kept.set(key, { place, object });
    return this.#record('ADDED', key, object);
  }

  /**
   * Replaces an object, or only its status. Refused when the sender has read another version, or another object of the name; what
   * was being deleted goes with its last finalizer.
   */
  replace(
    place: ResourcePlace,
    name: string,
    sent: Partial<StoredObject>,
    part: 'object' | 'status' = 'object',
  ): StoredObject {
    const before = this.get(place, name);
    const { resourceVersion, uid } = (sent.metadata ?? {}) as Partial<StoredMeta>;
    if (isOther(resourceVersion, before.metadata.resourceVersion) || isOther(uid, before.metadata.uid)) {
      throw new StatusError(409, 'Conflict', `${place.plural} "${name}": the object has been modified`);
    }
    const after = part === 'status' ? { ...before, status: sent.status } : keepServersOwn(before, sent);
    const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = after.metadata;
    const key = formatKey(place, name);
    if (deletionTimestamp !== undefined && finalizers.length === 0 && deletionGracePeriodSeconds === 0) {
      return this.#remove(key, after);
    }
    if (isSame(after, before)) return before;
    return this.#record('MODIFIED', key, after, before);
  }

  /** Marks an object that has finalizers or is given time to end; removes another. */
  delete(place: ResourcePlace, name: string, graceSeconds: number): StoredObject {
    const before = this.get(place, name);
    const { finalizers = [], deletionTimestamp } = before.metadata;
    const key = formatKey(place, name);
    if (finalizers.length === 0 && graceSeconds === 0) return this.#remove(key, before);
    if (deletionTimestamp !== undefined && graceSeconds >= (before.metadata.deletionGracePeriodSeconds ?? 0)) {
      return before;
    }
    const mark = { deletionTimestamp: deletionTimestamp ?? now(), deletionGracePeriodSeconds: graceSeconds };
    const metadata = { ...before.metadata, ...mark, generation: before.metadata.generation + 1 };
    return this.#record('MODIFIED', key, { ...before, metadata }, before);
  }

  /** The changes after a revision. Undefined when some of them are forgotten. */
  since(revision: number): readonly ObjectChange[] | undefined {
    if (revision < this.#forgotten) return undefined;
    return this.#changes.filter(change => change.revision > revision);
  }

  /** Forgets what has changed so far: a watch from before is answered 410. */
  compact(): void {
    this.#changes = [];
    this.#forgotten = this.#revision;
  }

  /** Calls back after each change, until the returned function is called. */
  listen(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  #remove(key: string, object: StoredObject): StoredObject {
    const { place } = this.#kept.get(key)!;
    this.#kept.delete(key);
    const gone = this.#record('DELETED', key, object, object, place);
    for (const [other, kept] of this.#kept) {
      const owners = kept.object.metadata.ownerReferences ?? [];
      const isOrphan = owners.length > 0 && !owners.some(({ uid }) => this.#holds(uid));
      if (isOrphan && kept.place.namespace === place.namespace) this.delete(kept.place, nameOf(other), 0);
    }
    return gone;
  }

  #holds(uid: string): boolean {
    return [...this.#kept.values()].some(({ object }) => object.metadata.uid === uid);
  }

  #record(
    type: ObjectChange['type'],
    key: string,
    sent: StoredObject,
    before?: StoredObject,
    place = this.#kept.get(key)!.place,
  ): StoredObject {
    const revision = ++this.#revision;
    const object = { ...sent, metadata: { ...sent.metadata, resourceVersion: String(revision) } };
    const kept = this.#kept.get(key);
    if (kept && type !== 'DELETED') kept.object = object;
    this.#changes.push({ type, revision, place, object, ...(before && { before }) });
    for (const tell of this.#listeners) tell();
    return object;
  }
}

/** What a client cannot write stays as it is, and the generation counts changes of everything but metadata and status. */
function keepServersOwn(before: StoredObject, sent: Partial<StoredObject>): StoredObject {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = before.metadata;
  const own = {
    name,
    ...(namespace !== undefined && { namespace }),
    uid,
    creationTimestamp,
    ...(deletionTimestamp !== undefined && {
      deletionTimestamp,
      deletionGracePeriodSeconds: deletionGracePeriodSeconds ?? 0,
    }),
  };
  const { metadata: _before, status: statusBefore, ...restBefore } = before;
  const { metadata, status: _sent, ...rest } = sent;
  const isChanged = !isSame(rest, restBefore);
  const { generation, resourceVersion } = before.metadata;
  return {
    ...rest,
    metadata: { ...metadata, ...own, generation: generation + Number(isChanged), resourceVersion },
    ...(statusBefore !== undefined && { status: statusBefore }),
  };
}

function isOther(sent: string | undefined, kept: string): boolean {
  return sent !== undefined && sent !== '' && sent !== kept;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a, sortMembers) === JSON.stringify(b, sortMembers);
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function formatKey({ group, plural, namespace }: ResourcePlace, name: string): string {
  return [group, plural, namespace, name].join('/');
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
