import { isTypedId } from '../../../crds/grammar/index.js';
import { GENERATION_ID, isSameTerm, type VolumeTerm } from '../../../crds/volume/index.js';
import { PeerFault } from './peers.js';

/** What a receiver has of a snapshot that has not arrived as a whole. */
export interface BegunTransfer {
  readonly snapshot: string;
  readonly at: string;
  readonly parent?: string;
  readonly arrived: number;
  readonly checksum: string;
}

/** What two agents say to each other about one snapshot of one volume, in this order. */
export interface PeerMessages {
  /** The sender: which volume, in which term it is the primary, and what keeps it there: a driver reads its own streams only. */
  readonly hello: VolumeTerm & { readonly volume: string; readonly driver?: string };
  /** The receiver: the snapshots that it has. */
  readonly held: {
    readonly snapshots: readonly string[];
    /** What has arrived of a transfer that was cut, with the length and the checksum of that. */
    readonly begun?: BegunTransfer | undefined;
  };
  /** The sender: what follows. `isHeld`: nothing, since the receiver has that snapshot. */
  readonly header: {
    readonly snapshot: string;
    /** The moment that it shows. */
    readonly at: string;
    /** What it is the difference to. */
    readonly parent?: string;
    /** How long it may become, by estimate. */
    readonly bytes?: number;
    readonly isHeld?: true;
    /** It goes on from there with what was `begun`; when the sender finds that it is not the same, it ends it with a checksum that does not fit. */
    readonly from?: number;
    /** It is the last one before the volume moves in that epoch. */
    readonly finalFor?: number;
    /**
     * What led to it, beside what this run of the agent has taken: the copies that became the volume, one promotion after another, and the last
     * snapshot of each earlier run. Each stands for all that was taken in its term and run up to it.
     */
    readonly origins?: readonly string[];
  };
  /** The receiver, meanwhile: how much has arrived. */
  readonly arrived: { readonly arrived: number };
  /** The receiver, at last: the snapshot is on its disk. */
  readonly done: { readonly done: string };
  /** The receiver, in the place of any of its words. */
  readonly refused: { readonly refused: PeerRejection };
}

const rejections = {
  not_named: 'the other node does not expect this volume from here; it follows what the control plane assigns to it',
  other_epoch: 'the other node is assigned another epoch of this volume; one of both is not up to date yet',
  other_driver:
    'the other node keeps volumes with another driver; start both agents with the same --volume-driver, or have the copy on another node',
  not_ready: 'the other node is not ready to receive yet; it is tried again',
  no_space: 'the other node has no space left for its copy; grow the volume, or make room on that node',
  bad_stream: 'the other node has refused what was sent to it; see the log of its agent',
  failed: 'the other node could not store what was sent to it; see the log of its agent',
} as const;

/** Why a receiver takes nothing, or not this. */
export type PeerRejection = keyof typeof rejections;

type Form = (value: unknown) => boolean;

const SNAPSHOT = new RegExp(`^s-(\\d{10})-(${GENERATION_ID})-(\\d{10})-([0-9a-f]{8})$`);
const GENERATION = new RegExp(`^${GENERATION_ID}$`);
const NUMBER_MAX = 9_999_999_999;
const LISTED_MAX = 200;
/** Of what is further back it is not known any more what came of it. */
export const ORIGINS_MAX = 64;

const isCount: Form = value => Number.isSafeInteger(value) && (value as number) >= 0;
const isEpoch: Form = value => isCount(value) && (value as number) <= NUMBER_MAX;
const isSnapshot: Form = value => typeof value === 'string' && SNAPSHOT.test(value);
/** Whether it is a generation of a volume, as it was drawn. */
export const isGenerationId: Form = value => typeof value === 'string' && GENERATION.test(value);
const isTime: Form = value =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value));
const maybe =
  (form: Form): Form =>
  value =>
    value === undefined || form(value);

const begun: Readonly<Record<keyof BegunTransfer, Form>> = {
  snapshot: isSnapshot,
  at: isTime,
  parent: maybe(isSnapshot),
  arrived: isCount,
  checksum: value => typeof value === 'string' && /^[0-9a-f]{24}$/.test(value),
};

const forms: Readonly<Record<keyof PeerMessages, Readonly<Record<string, Form>>>> = {
  hello: {
    volume: value => typeof value === 'string' && isTypedId('vol', value),
    epoch: isEpoch,
    generationId: isGenerationId,
    driver: maybe(value => typeof value === 'string'),
  },
  held: {
    snapshots: value => Array.isArray(value) && value.length <= LISTED_MAX && value.every(isSnapshot),
    begun: maybe(value => typeof value === 'object' && value !== null && fits(value, begun)),
  },
  header: {
    snapshot: isSnapshot,
    at: isTime,
    parent: maybe(isSnapshot),
    bytes: maybe(isCount),
    isHeld: maybe(value => value === true),
    from: maybe(isCount),
    finalFor: maybe(isEpoch),
    origins: maybe(value => Array.isArray(value) && value.length <= ORIGINS_MAX && value.every(isSnapshot)),
  },
  arrived: { arrived: isCount },
  done: { done: isSnapshot },
  refused: { refused: value => typeof value === 'string' && Object.hasOwn(rejections, value) },
};

/** Reads a line that another machine wrote, as one of the messages that may come now. Throws when it is none of them. */
export function parsePeerMessage<K extends keyof PeerMessages>(
  line: string,
  ...kinds: readonly K[]
): { readonly [Each in K]: { readonly kind: Each } & PeerMessages[Each] }[K] {
  const document = readObject(line);
  for (const kind of kinds) if (fits(document, forms[kind])) return { kind, ...document } as never;
  throw new PeerFault('the other node says what is not understood; both must run releases that fit together');
}

function fits(document: object, form: Readonly<Record<string, Form>>): boolean {
  const isKnown = Object.keys(document).every(field => Object.hasOwn(form, field));
  return isKnown && Object.entries(form).every(([field, isSound]) => isSound(document[field as keyof typeof document]));
}

function readObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const document = JSON.parse(line) as unknown;
    if (typeof document === 'object' && document !== null) return document as Readonly<Record<string, unknown>>;
  } catch {
    // reported by the caller, without quoting it
  }
  return {};
}

/** A refusal as the sender reports it to people. */
export function toRejectionFault(rejection: PeerRejection): PeerFault {
  return new PeerFault(rejections[rejection], { rejection });
}

/** A term and the run of the agent that took a snapshot in it, a number drawn at its start: of a machine that is set back it is another. */
export interface SyncRun extends VolumeTerm {
  readonly run: string;
}

/** The name of a snapshot for copies: where it was taken, and the place in the term. Names of one term sort as they were taken. */
export function formatSyncName({ epoch, generationId, run }: SyncRun, sequence: number): string {
  const pad = (number: number) => String(number).padStart(10, '0');
  return `s-${pad(epoch)}-${generationId}-${pad(sequence)}-${run}`;
}

/** Whether a snapshot was taken for copies; others are people's, or were set aside. */
export const isSyncName = (name: string): boolean => isSnapshot(name);

/** Where a snapshot for copies was taken, and its place in the term. */
export function readSyncName(name: string): SyncRun & { readonly sequence: number } {
  const [, epoch, generationId = '', sequence, run = ''] = SNAPSHOT.exec(name) ?? [];
  return { epoch: Number(epoch), generationId, sequence: Number(sequence), run };
}

/**
 * Whether what a snapshot shows is in the history that led to others, each of which stands for all that was taken in its term and run up to
 * it. Numbers of two histories may be equal, and then neither is in the other.
 */
export function isIncluded(name: string, history: readonly string[]): boolean {
  const { sequence, ...taken } = readSyncName(name);
  return history
    .map(readSyncName)
    .some(each => isSameTerm(each, taken) && each.run === taken.run && sequence <= each.sequence);
}
