import type { ApiAnswer } from '../../pkg/client/index.js';
import type { TenantDesk } from './tenant-desk.js';
import { taken, until } from './until.js';

/** The parts may be away several times meanwhile. */
const PATIENCE_MS = 240_000;

/** How far a rotation is, as the API shows it. */
export interface ShownRotation {
  readonly phase: string;
  readonly holds: boolean;
  readonly waitsFor: string | null;
}

/** Asks for the rotation of the only credential of a deployment, as somebody does who does not give up. */
export class RotationDesk {
  readonly #shop: TenantDesk;
  readonly #path: string;

  constructor(shop: TenantDesk, deployment: string) {
    this.#shop = shop;
    this.#path = `/api/v1/deployments/${deployment}/secrets`;
  }

  async show(): Promise<ShownRotation> {
    return taken(await this.#shop.client.request<ShownRotation>('GET', `${this.#path}/rotation`));
  }

  ask(body: unknown): Promise<ApiAnswer<ShownRotation>> {
    return this.#shop.client.request<ShownRotation>('POST', `${this.#path}/rotate`, { body });
  }

  /** Asks until it is heard, for the API server may be away, and waits until the phase holds. */
  async advance(phase: string, material: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await until(`${phase} to be taken`, async () => (await this.ask({ phase, ...material })).ok, PATIENCE_MS);
    const isOver = ({ phase: shown, holds }: ShownRotation) => holds && (shown === phase || shown === 'idle');
    await until(`${phase} to hold`, async () => isOver(await this.show()), PATIENCE_MS);
  }
}
