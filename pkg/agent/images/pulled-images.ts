import { type Disk, readStateFile } from '../disk.js';
import { type Engine, ImageMissingFault } from '../engine/index.js';

const FILE = 'images.json';
/** The least recently pulled are forgotten: they are pulled once more before their next use. */
const IMAGES_MAX = 1_000;

interface StoredImages {
  readonly nodeId: string;
  /** The id of each image on the engine, by its reference, the least recently pulled first. */
  readonly images: Readonly<Record<string, string>>;
}

/**
 * Which images this node has pulled itself.
 *
 * An engine may be shared, and gives a present image to any tenant that knows its name. So an image that another tenant's node has
 * pulled, with that tenant's login, is not used before the registry has delivered it to this node too. No login is stored,
 * nor anything made from one.
 */
export class PulledImages {
  readonly #disk: Disk;
  readonly #nodeId: string;
  readonly #images: Map<string, string>;

  private constructor(disk: Disk, nodeId: string, images: ReadonlyMap<string, string>) {
    this.#disk = disk;
    this.#nodeId = nodeId;
    this.#images = new Map(images);
  }

  /** What was pulled as another node does not count: that may have been of another tenant. */
  static async load(disk: Disk, nodeId: string): Promise<PulledImages> {
    const isSound = ({ images }: Partial<StoredImages>) => typeof images === 'object' && images !== null;
    const stored = await readStateFile<StoredImages>(disk, FILE, isSound);
    return new PulledImages(disk, nodeId, new Map(stored?.nodeId === nodeId ? Object.entries(stored.images) : []));
  }

  /** Whether this node has pulled the image, and the engine has no other under its name since. */
  has(image: string, id: string): boolean {
    return this.#images.get(image) === id;
  }

  /** Throws when the image is not present, or is there only because of a node of another tenant on the same engine. */
  async demand(image: string, engine: Engine): Promise<void> {
    const id = await engine.findImage(image);
    if (id === undefined || !this.has(image, id)) throw new ImageMissingFault(image);
  }

  async add(image: string, id: string): Promise<void> {
    if (this.has(image, id)) return;
    this.#images.delete(image);
    this.#images.set(image, id);
    const [oldest] = this.#images.keys();
    if (this.#images.size > IMAGES_MAX && oldest !== undefined) this.#images.delete(oldest);
    const stored: StoredImages = { nodeId: this.#nodeId, images: Object.fromEntries(this.#images) };
    await this.#disk.keep(FILE, JSON.stringify(stored));
  }
}
