import { createHash } from 'node:crypto';

import type { Clock } from '../pkg/clock/index.js';
import { OvertakenFault, type MirrorSide } from './mirror-side.js';

/** A Lease of coordination.k8s.io/v1, as far as it is read. */
export interface ClusterLease {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
    readonly acquireTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** What was seen of a lease, and when it was first seen so, by the own clock. */
export interface LeaseSighting {
  readonly mark: string;
  readonly at: number;
}

/** What to do about a lease: another's counts as given up when it was not renewed for its duration, by our own clock. */
export function decideLease(
  lease: ClusterLease | undefined,
  me: string,
  seen: LeaseSighting,
  now: number,
): 'take' | 'renew' | 'wait' {
  const { holderIdentity = '', leaseDurationSeconds = 15 } = lease?.spec ?? {};
  if (holderIdentity === me) return 'renew';
  if (holderIdentity === '') return 'take';
  return now - seen.at >= leaseDurationSeconds * 1000 ? 'take' : 'wait';
}

/** Bridges of the same namespaces and tenants share a lease, in whichever order they name them; others do not wait for one another. */
export function nameLease(namespaces: readonly { readonly namespace: string; readonly tenant: string }[]): string {
  const mapped = namespaces.map(({ namespace, tenant }) => `${namespace}=${tenant}`).toSorted();
  return `mooring-bridge-${createHash('sha256').update(mapped.join(' ')).digest('hex').slice(0, 12)}`;
}

export interface LeaseOptions {
  readonly api: MirrorSide;
  readonly namespace: string;
  readonly name: string;
  readonly holder: string;
  readonly seconds: number;
  readonly clock: Clock;
}

/** One bridge among those of a cluster has the lease. It counts as lost at two thirds of its time without renewal. */
export class LeaseHolder {
  readonly #options: LeaseOptions;
  #seen: LeaseSighting = { mark: '', at: 0 };
  #renewedAt: number | undefined;
  #holder: string | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get isLeading(): boolean {
    const { clock, seconds } = this.#options;
    return this.#renewedAt !== undefined && clock.monotonic() - this.#renewedAt < (seconds * 1000 * 2) / 3;
  }

  /** Who had the lease when it was last read. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Takes or renews the lease, where it is free. Throws when the cluster does not answer. */
  async attempt(): Promise<void> {
    const { api, clock, holder, name } = this.#options;
    const asked = clock.monotonic();
    const lease = await api.find<ClusterLease>(this.#path, name);
    this.#holder = lease?.spec?.holderIdentity;
    const mark = JSON.stringify(lease?.spec ?? {});
    if (mark !== this.#seen.mark) this.#seen = { mark, at: clock.monotonic() };
    const next = decideLease(lease, holder, this.#seen, clock.monotonic());
    if (next === 'wait') {
      this.#renewedAt = undefined;
      return;
    }
    if (await this.#write(lease, holder)) this.#renewedAt = asked;
    else this.#renewedAt = undefined;
  }

  /** Gives the lease back, so that another need not wait. */
  async release(): Promise<void> {
    if (!this.isLeading) return;
    this.#renewedAt = undefined;
    const { api, name, holder } = this.#options;
    const lease = await api.find<ClusterLease>(this.#path, name);
    if (lease?.spec?.holderIdentity === holder) await this.#write(lease, '');
  }

  get #path(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.#options.namespace}/leases`;
  }

  async #write(lease: ClusterLease | undefined, holder: string): Promise<boolean> {
    const { api, clock, name, seconds } = this.#options;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const { holderIdentity, acquireTime, leaseTransitions = 0 } = lease?.spec ?? {};
    const isSame = holderIdentity === holder;
    const spec = {
      holderIdentity: holder,
      leaseDurationSeconds: seconds,
      renewTime: now,
      acquireTime: isSame ? (acquireTime ?? now) : now,
      leaseTransitions: isSame ? leaseTransitions : leaseTransitions + 1,
    };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...lease, spec };
    try {
      const answer = lease
        ? await api.request('PUT', `${this.#path}/${name}`, body)
        : await api.request('POST', this.#path, { ...body, metadata: { name } });
      return answer.ok;
    } catch (thrown) {
      if (thrown instanceof OvertakenFault) return false;
      throw thrown;
    }
  }
}
