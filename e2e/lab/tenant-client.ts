import type { DeploymentPhase, DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { ApiAnswer, Client } from '../../pkg/client/index.js';
import type { ControlPlane } from './control-plane.js';
import { until } from '../../dev/testing/index.js';

/** A deployment as the API shows it. */
export interface ShownDeployment extends StoredDeployment {
  readonly metadata: StoredDeployment['metadata'] & { readonly revision: string };
  readonly status?: DeploymentStatus;
}

/** A new join token of the tenant that `client` acts for. */
export async function requestJoinToken(client: Client, body: { readonly nodeName?: string } = {}): Promise<string> {
  return unwrap(await client.request<{ token: string }>('POST', '/api/v1/nodes/join-tokens', { body })).token;
}

/** Waits until a node of the tenant that `client` acts for is ready. */
export async function untilNodeReady(client: Client, name: string): Promise<void> {
  await until(`node ${name} to be ready`, async () => {
    const node = await client.request<{ status: string }>('GET', `/api/v1/nodes/${name}`);
    return node.ok && node.value.status === 'ready';
  });
}

/** What a tenant does over HTTP, and waits to see. */
export class TenantClient {
  readonly id: string;
  readonly client: Client;
  /** Of an administrator of the tenant. */
  readonly token: string;

  private constructor(id: string, client: Client, token: string) {
    this.id = id;
    this.client = client;
    this.token = token;
  }

  /** A new tenant, with an administrator's token. It speaks to `server`, where that is not the API server itself. */
  static async open(plane: ControlPlane, name: string, server?: string): Promise<TenantClient> {
    const admin = plane.client(plane.access.adminToken);
    const tenant = unwrap(await admin.request<{ id: string }>('POST', '/api/v1/tenants', { body: { name } }));
    const body = { role: 'admin', description: 'story' };
    const headers = { 'X-Tenant-ID': tenant.id };
    const token = unwrap(await admin.request<{ token: string }>('POST', '/api/v1/tokens', { body, headers }));
    return new TenantClient(tenant.id, plane.client(token.token, server), token.token);
  }

  async apply(document: { readonly name: string } & Record<string, unknown>): Promise<ShownDeployment> {
    const body = { kind: 'Deployment', ...document };
    return unwrap(await this.client.request<ShownDeployment>('POST', '/api/v1/deployments', { body }));
  }

  async change(name: string, body: Record<string, unknown>): Promise<ShownDeployment> {
    return unwrap(await this.client.request<ShownDeployment>('PUT', `/api/v1/deployments/${name}`, { body }));
  }

  async show(name: string): Promise<ShownDeployment> {
    return unwrap(await this.client.request<ShownDeployment>('GET', `/api/v1/deployments/${name}`));
  }

  /** Waits until the deployment is in this phase at its latest generation. */
  async reaches(name: string, phase: DeploymentPhase, withinMs = 120_000): Promise<ShownDeployment> {
    let last: DeploymentStatus | undefined;
    const reached = async () => {
      const shown = await this.show(name);
      last = shown.status;
      const isCurrent = shown.status?.observedGeneration === shown.metadata.generation;
      return isCurrent && shown.status?.phase === phase ? shown : undefined;
    };
    try {
      return await until(`${name} to be ${phase}`, reached, withinMs);
    } catch (error) {
      throw new Error(`${name} is ${last?.phase} (${last?.message}), not ${phase}`, { cause: error });
    }
  }

  /** Asks for deletion and waits until nothing is left. */
  async remove(name: string): Promise<void> {
    unwrap(await this.client.request('DELETE', `/api/v1/deployments/${name}`));
    await until(`${name} to be gone`, async () => {
      const answer = await this.client.request('GET', `/api/v1/deployments/${name}`);
      return !answer.ok && answer.status === 404;
    });
  }
}

/** The parts may be away several times meanwhile. */
const PATIENCE_MS = 240_000;

/** How far a rotation is, as the API shows it. */
export interface ShownRotation {
  readonly phase: string;
  readonly holds: boolean;
  readonly waitsFor: string | null;
}

/** Asks for the rotation of the only credential of a deployment, retrying until it succeeds. */
export class RotationClient {
  readonly #shop: TenantClient;
  readonly #path: string;

  constructor(shop: TenantClient, deployment: string) {
    this.#shop = shop;
    this.#path = `/api/v1/deployments/${deployment}/secrets`;
  }

  async show(): Promise<ShownRotation> {
    return unwrap(await this.#shop.client.request<ShownRotation>('GET', `${this.#path}/rotation`));
  }

  ask(body: unknown): Promise<ApiAnswer<ShownRotation>> {
    return this.#shop.client.request<ShownRotation>('POST', `${this.#path}/rotate`, { body });
  }

  /** Sends the request until it is answered, as the API server may be away, and waits until the phase is complete. */
  async advance(phase: string, material: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await until(`${phase} to be taken`, async () => (await this.ask({ phase, ...material })).ok, PATIENCE_MS);
    const isOver = ({ phase: shown, holds }: ShownRotation) => holds && (shown === phase || shown === 'idle');
    await until(`${phase} to hold`, async () => isOver(await this.show()), PATIENCE_MS);
  }
}

/** The value of an answer that must not be a refusal. */
export function unwrap<T>(answer: ApiAnswer<T>): T {
  if (answer.ok) return answer.value;
  throw new Error(
    `refused with ${answer.status}: ${answer.rejections.map(({ code, field }) => `${code} (${field})`).join(', ')}`,
  );
}
