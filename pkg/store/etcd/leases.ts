import { LeaseGoneFault } from '../faults.js';
import type { Lease } from '../store.js';
import type { EtcdClient } from './etcd-client.js';
import { decodeLease, encodeLease, encodeLeaseGrant } from './stream-messages.js';

/**
 * Leases, over the same calls and with the same failover as everything else. Each may be sent twice: a grant whose answer
 * is lost leaves a lease behind that ends by itself.
 */
export class Leases {
  readonly #client: EtcdClient;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  async grant(ttlSeconds: number): Promise<Lease> {
    return decodeLease(await this.#client.callRetrying('Lease/LeaseGrant', encodeLeaseGrant(Math.ceil(ttlSeconds))));
  }

  async revoke(id: string): Promise<void> {
    try {
      await this.#client.callRetrying('Lease/LeaseRevoke', encodeLease(id));
    } catch (thrown) {
      if (!(thrown instanceof LeaseGoneFault)) throw thrown; // a lease that has ended needs no revoking
    }
  }

  /**
   * Extends the lease to its full time. False when it has ended. LeaseKeepAlive is a stream, but etcd answers each
   * message before it reads the next one, so a stream of one message is a call: no answer can be mistaken for another's.
   */
  async keepAlive(id: string): Promise<boolean> {
    const { ttlSeconds } = decodeLease(await this.#client.callRetrying('Lease/LeaseKeepAlive', encodeLease(id)));
    return ttlSeconds > 0;
  }
}
