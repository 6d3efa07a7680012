import type { StoredEvent } from '../../crds/event/index.js';
import { until } from '../../dev/testing/index.js';
import { type TenantClient, unwrap } from './tenant-client.js';

const PATIENCE_MS = 240_000;

/** A volume as the API shows it, as far as stories look. */
export interface ShownVolume {
  readonly id: string;
  readonly phase: string;
  readonly message: string | null;
  readonly epoch: number | null;
  readonly primaryNodeName: string | null;
  readonly capacityBytes: number | null;
  readonly replicas: readonly { readonly nodeId: string; readonly nodeName: string; readonly state: string }[];
  readonly lastMove: { readonly downtimeSeconds?: number } | null;
  readonly divergent: readonly { readonly nodeId: string; readonly name: string; readonly epoch: number }[];
}

/** What the event of a promotion says. */
export interface PromotionData {
  readonly epoch: number;
  readonly syncedAt: string;
  readonly secondsLost: number | null;
  readonly secondsUnheard?: number;
}

/** Whether a volume is used, and a node has a complete copy of it. */
export function isCopiedTo({ phase, replicas }: ShownVolume, node: string): boolean {
  return phase === 'Ready' && replicas.some(({ nodeName, state }) => nodeName === node && state === 'synced');
}

/** What a tenant sees of one volume, and waits to see. */
export class VolumeClient {
  readonly path: string;
  readonly #shop: TenantClient;

  constructor(shop: TenantClient, name: string) {
    this.path = `/api/v1/dvm/volumes/${name}`;
    this.#shop = shop;
  }

  async find(): Promise<ShownVolume> {
    return unwrap(await this.#shop.client.request<ShownVolume>('GET', this.path));
  }

  async becomes(what: string, isSo: (volume: ShownVolume) => boolean): Promise<ShownVolume> {
    let last: ShownVolume | undefined;
    const look = async () => {
      last = await this.find();
      return isSo(last) ? last : undefined;
    };
    return until(`the volume to be ${what}`, look, PATIENCE_MS).catch((thrown: unknown) => {
      throw new Error(`the volume is not ${what}: ${JSON.stringify(last)}`, { cause: thrown });
    });
  }

  /** What was told of the promotion to an epoch. */
  async findPromotion(epoch: number): Promise<PromotionData> {
    const query = { type: 'volume.promoted' };
    const { items } = unwrap(await this.#shop.client.all<StoredEvent>('/api/v1/events', { query }));
    const found = items.map(({ data }) => data as unknown as PromotionData).filter(each => each.epoch === epoch);
    if (found.length !== 1) throw new Error(`${found.length} events tell of the promotion to epoch ${epoch}`);
    return found[0]!;
  }
}
