/** One time that the variables of a replica were given out. */
export interface DeliveryUse {
  /** The public part of the ticket. */
  readonly ticket: string;
  readonly at: string;
  /** By vault path. */
  readonly versions: Readonly<Record<string, number>>;
}

/**
 * `deliveries/<tenant>/<deployment>/<replica>`: what was given out for one replica. Written by the API before a value
 * leaves; removed by the secret resolver when the replica is gone.
 */
export interface Delivery {
  readonly replica: string;
  readonly nodeId: string;
  /** Every one whose ticket might come again, the oldest first. */
  readonly uses: readonly DeliveryUse[];
  /** Id of the event that tells of a ticket used twice, if there was one. */
  readonly repeated?: string;
}
