import type { JobStatus, StoredJob } from '../../crds/job/index.js';
import { until } from '../../dev/testing/index.js';
import type { EngineContainer } from './engine-view.js';
import type { Fleet } from './fleet.js';
import { type TenantClient, unwrap } from './tenant-client.js';

/** A job as the API shows it. */
export interface ShownJob extends StoredJob {
  readonly status: JobStatus;
}

/** What a tenant does with jobs over HTTP, and waits to see. */
export class JobClient {
  readonly #shop: TenantClient;

  constructor(shop: TenantClient) {
    this.#shop = shop;
  }

  async create(document: { readonly name: string } & Record<string, unknown>): Promise<ShownJob> {
    const body = { kind: 'Job', ...document };
    return unwrap(await this.#shop.client.request<ShownJob>('POST', '/api/v1/jobs', { body }));
  }

  async show(name: string): Promise<ShownJob> {
    return unwrap(await this.#shop.client.request<ShownJob>('GET', `/api/v1/jobs/${name}`));
  }

  /** Waits until the job is in this phase; a server that is away is asked again. */
  async reaches(name: string, phase: JobStatus['phase'], withinMs = 180_000): Promise<ShownJob> {
    let last: JobStatus | undefined;
    const reached = async () => {
      const shown = await this.show(name).catch(() => undefined);
      last = shown?.status ?? last;
      return shown?.status.phase === phase ? shown : undefined;
    };
    try {
      return await until(`job ${name} to be ${phase}`, reached, withinMs);
    } catch (error) {
      throw new Error(`job ${name} is ${last?.phase} (${last?.message}), not ${phase}`, { cause: error });
    }
  }

  /** What an attempt has printed; the last one when none is named. */
  async log(name: string, attempt?: number): Promise<string> {
    const query = attempt === undefined ? {} : { attempt };
    const answer = await this.#shop.client.stream(`/api/v1/jobs/${name}/logs`, { query });
    if (!answer.ok) throw new Error(`the log of ${name} was refused: ${answer.rejections[0]?.code}`);
    const parts: Buffer[] = [];
    for await (const part of answer.body) parts.push(part);
    return Buffer.concat(parts).toString('utf8');
  }

  async remove(name: string): Promise<void> {
    unwrap(await this.#shop.client.request('DELETE', `/api/v1/jobs/${name}`));
    await this.isGone(name);
  }

  async isGone(name: string): Promise<void> {
    await until(`job ${name} to be gone`, async () => {
      const answer = await this.#shop.client.request('GET', `/api/v1/jobs/${name}`);
      return !answer.ok && answer.status === 404;
    });
  }

  /** The containers of a job, running or not, as the engine tells them. */
  async containers({ view }: Fleet, name: string): Promise<readonly EngineContainer[]> {
    return (await view.containers()).filter(({ labels }) => labels['mooring.io/deployment'] === `job.${name}`);
  }
}
