/**
 * Copies of volumes, from the agent of the primary to the agents of its replicas.
 *
 *     const peers = await TlsPeers.open({ key, clock, listen: { host: '10.0.0.7', port: 7071 } });
 *     const replication = new Replication({ clock, random, log, disk, peers, driver, onChange });
 *     replication.assign(volumes);
 *     await replication.settle(volume);
 *
 * The one idea: *the assignment is the leave*. It names one volume, one epoch and the keys of the nodes at the other end; a peer
 * that is not named at this moment is rejected before a byte of a volume has passed. A round (`primary.ts`) takes a snapshot when the
 * volume has changed, and sends the difference to the newest one that both ends have; the receiver (`receiver.ts`) keeps it once it
 * is whole and checked. Whatever ends in between is begun again by the next round.
 *
 * Which node has which part is decided by the control plane, what a stream may hold by the driver. No byte of a volume passes the
 * control plane.
 *
 * @module
 */
export { type PeerAddress, parsePeerAddress } from './peer-address.js';
export type { Peers } from './peers.js';
export { isReplicationNews, Replication, withoutReplication } from './replication.js';
export { TlsPeers } from './tls-peers.js';
