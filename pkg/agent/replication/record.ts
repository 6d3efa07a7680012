import { isTypedId } from '../../../crds/grammar/index.js';
import type { FinalSnapshot, SeenVolume, VolumeRole, VolumeTerm } from '../../../crds/volume/index.js';
import { BrokenInvariantFault } from '../../fault/index.js';
import { type Disk, readStateFile } from '../disk.js';
import type { VolumeDriver } from '../volumes/index.js';
import { isGenerationId, isSyncName } from './messages.js';

/** What this node has been to a volume, kept across restarts: what it may do next depends on it. */
export interface ReplicationRecord extends VolumeTerm {
  /** What it has acted as in that term: the last, and of the highest epoch. */
  readonly role: VolumeRole;
  /** That the control plane has issued the term, for one that does not know it any more. */
  readonly epochProof?: string;
  /**
   * On a replica: the copy that counts, and the term in which the primary has vouched for it. Of a former primary it is what it held
   * itself, until another copy has arrived.
   */
  readonly synced?: VolumeTerm & {
    readonly snapshot: string;
    readonly at: string;
    /** It is the last one before a move in that epoch, as the primary has said. */
    readonly finalFor?: number;
  };
  /** On the primary: the last snapshot before a move. */
  readonly final?: FinalSnapshot;
  /** On the primary: the moment that each of its snapshots shows. */
  readonly times?: Readonly<Record<string, string>>;
  /** On the primary: the newest snapshot that each node is known to have, and the epoch in which it said so. */
  readonly common?: Readonly<Record<string, { readonly snapshot: string; readonly epoch: number }>>;
  /** The copies that became the volume, one promotion after another: what others have of their terms up to there is here too. */
  readonly origins?: readonly string[];
  /** All that was set aside here, until it is removed by order: what is not there may be on a disk that is away, and comes back with it. */
  readonly divergent?: NonNullable<SeenVolume['divergent']>;
}

/** The name of what a node held as the primary in a term, and has set aside; others that are of the same term begin with it. */
export function formatAsideName({ epoch, generationId }: VolumeTerm): string {
  return `divergent-${epoch}-${generationId}`;
}

/** The snapshots for copies, of all that are here: what was set aside is none of them, whatever its name. */
export function listForCopies(all: readonly string[], record: ReplicationRecord | undefined): readonly string[] {
  return all.filter(name => isSyncName(name) && !record?.divergent?.some(kept => kept.name === name));
}

/** Drops what was set aside and has become the volume again: once it is copied, or set aside again, it is not needed. */
export async function dropSpent(id: string, { times = {} }: ReplicationRecord, driver: VolumeDriver): Promise<void> {
  for (const name of Object.keys(times)) if (!isSyncName(name)) await driver.dropSnapshot(id, name);
}

/** The records of all volumes of this node that are replicated, as small files of its state folder. */
export class ReplicationRecords {
  readonly #disk: Disk;
  readonly #known = new Map<string, ReplicationRecord | undefined>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async read(id: string): Promise<ReplicationRecord | undefined> {
    if (!this.#known.has(id)) {
      this.#known.set(id, await readStateFile<ReplicationRecord>(this.#disk, toFile(id), isRecord));
    }
    return this.#known.get(id);
  }

  /** Once resolved, it survives a power loss. */
  async write(id: string, record: ReplicationRecord): Promise<void> {
    await this.#disk.write(toFile(id), JSON.stringify(record));
    this.#known.set(id, record);
  }

  async remove(id: string): Promise<void> {
    await this.#disk.remove(toFile(id));
    this.#known.delete(id);
  }
}

function toFile(id: string): string {
  if (!isTypedId('vol', id)) throw new BrokenInvariantFault('a record is asked for of what is no volume');
  return `replication-${id}.json`;
}

/** What could not be worked with is lost: a part of it would be taken for all that is known. */
function isRecord({ epoch, generationId, role, ...record }: Partial<ReplicationRecord>): boolean {
  const { synced, final, times = {}, common = {}, origins = [], divergent = [], epochProof = '' } = record;
  const isCommon = (of: unknown) => isObject(of) && isText(of['snapshot']) && isCount(of['epoch']);
  const isShown = (of: unknown) => of === undefined || (isCommon(of) && isText((of as { at?: unknown }).at));
  const isDivergent = (of: unknown) => isObject(of) && isText(of['name']) && isCount(of['epoch']) && isText(of['at']);
  return (
    isCount(epoch) &&
    isGenerationId(generationId) &&
    (role === 'primary' || role === 'replica') &&
    isText(epochProof) &&
    [synced, final].every(isShown) &&
    (synced === undefined || isGenerationId(synced.generationId)) &&
    [times, common].every(isObject) &&
    Object.values(times).every(isText) &&
    Object.values(common).every(isCommon) &&
    [origins, divergent].every(Array.isArray) &&
    origins.every(isText) &&
    divergent.every(isDivergent)
  );
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value);

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
