import type { DeploymentPhase, DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { Client } from '../../pkg/client/index.js';
import type { ControlPlane } from './control-plane.js';
import { taken, until } from './until.js';

/** A deployment as the API shows it. */
export interface ShownDeployment extends StoredDeployment {
  readonly metadata: StoredDeployment['metadata'] & { readonly revision: string };
  readonly status?: DeploymentStatus;
}

/** What a tenant does over HTTP, and waits to see. */
export class TenantDesk {
  readonly id: string;
  readonly client: Client;

  private constructor(id: string, client: Client) {
    this.id = id;
    this.client = client;
  }

  /** A new tenant, with an administrator's token. It speaks to `server`, where that is not the API server itself. */
  static async open(plane: ControlPlane, name: string, server?: string): Promise<TenantDesk> {
    const admin = plane.client(plane.access.adminToken);
    const tenant = taken(await admin.request<{ id: string }>('POST', '/api/v1/tenants', { body: { name } }));
    const body = { role: 'admin', description: 'story' };
    const headers = { 'X-Tenant-ID': tenant.id };
    const token = taken(await admin.request<{ token: string }>('POST', '/api/v1/tokens', { body, headers }));
    return new TenantDesk(tenant.id, plane.client(token.token, server));
  }

  async apply(document: { readonly name: string } & Record<string, unknown>): Promise<ShownDeployment> {
    const body = { kind: 'Deployment', ...document };
    return taken(await this.client.request<ShownDeployment>('POST', '/api/v1/deployments', { body }));
  }

  async change(name: string, body: Record<string, unknown>): Promise<ShownDeployment> {
    return taken(await this.client.request<ShownDeployment>('PUT', `/api/v1/deployments/${name}`, { body }));
  }

  async show(name: string): Promise<ShownDeployment> {
    return taken(await this.client.request<ShownDeployment>('GET', `/api/v1/deployments/${name}`));
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
    taken(await this.client.request('DELETE', `/api/v1/deployments/${name}`));
    await until(`${name} to be gone`, async () => {
      const answer = await this.client.request('GET', `/api/v1/deployments/${name}`);
      return !answer.ok && answer.status === 404;
    });
  }
}
