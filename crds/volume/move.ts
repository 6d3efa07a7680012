/** That a user asked for a volume to move. The record of the volume keeps the last one, also when it has ended. */
export interface VolumeMoveOrder {
  /** The node that is to have the primary, by id. */
  readonly nodeId: string;
  /** The generation of the volume that it came with: each order has another one. */
  readonly generation: number;
  readonly at: string;
}

/** How far a move is. `Blocked`: the node of the primary is drained, and nothing can take it. */
export const movePhases = ['Blocked', 'Copying', 'Waiting', 'Stopping', 'Syncing', 'Switching'] as const;

/** A move that is under way, as the volume keeper leads it. */
export interface VolumeMove {
  readonly phase: (typeof movePhases)[number];
  /** What it waits for. */
  readonly message: string;
  /** From which node to which, by id; left out while nothing can take it. */
  readonly from?: string;
  readonly to?: string;
  /** Of the order; left out for one that a drain brings about. */
  readonly generation?: number;
  /** It had no copy there: one is made beside the others. */
  readonly isCopyMade?: true;
  /** The epoch that it moves in; set with `stoppedAt`, the moment since which nothing may use it. */
  readonly epoch?: number;
  readonly stoppedAt?: string;
  readonly since: string;
}

/** How the last move ended. */
export interface EndedMove {
  readonly from: string;
  readonly to: string;
  /** The latest order that has ended, and the latest epoch that a move was to be in: neither counts again. */
  readonly generation?: number;
  readonly epoch?: number;
  readonly isAborted?: true;
  readonly message: string;
  /** How long nothing could use it; left out where it was never stopped. */
  readonly downtimeSeconds?: number;
  readonly at: string;
}
