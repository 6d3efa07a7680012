import type { ReasonEntry } from './events.js';

/** Of volumes, and of the filter that keeps what mounts them on their node. */
export const volumeReasons = {
  volume_created: { meaning: 'The volume was stored. A node is chosen for it, and the agent there makes it.' },
  volume_waiting: {
    meaning: 'No node can hold the volume: none is ready, inside its residency, and has enough disk.',
    remedy: 'The message counts the causes; make a node ready, enrol one, or create a smaller volume.',
  },
  volume_class_not_wired: {
    meaning: 'This release keeps no bytes for volumes of this class, and mounts none.',
    remedy: 'Create a volume of class ephemeral.',
  },
  volume_materializing: {
    meaning: 'A node was chosen. Its agent has not said yet that the volume exists there.',
    remedy: 'Wait a moment; if it lasts, look at the agent of the node and its log.',
  },
  volume_refused: {
    meaning: 'The node cannot provide the volume, or cannot give it the size that is asked for. The agent tries again.',
    remedy:
      'The message has the words of the agent; correct what they name on the machine, or ask for the size that it has.',
  },
  volume_ready: { meaning: 'The volume exists on its node and can be mounted.' },
  volume_promoting: {
    meaning:
      'The node of the primary is lost. A copy takes its place; what mounts the volume is started there when it has.',
    remedy: 'Wait a moment; if it lasts, look at the agent of the node that the message names.',
  },
  volume_promoted: {
    meaning:
      'A copy has taken the place of a lost primary. The message says how many seconds of writes are missing at most: up to nodeFailedAfterSeconds more than were lost, because a machine that falls silent is counted as serving until it counts as failed.',
    remedy: 'Repair or delete the lost node: when it is back it gets a copy, and what only it had is set aside.',
  },
  volume_moving: {
    meaning: 'The volume moves to another node: what mounts it is stopped, and is started there when it has moved.',
    remedy: 'Wait: a move that does not come to its end within five minutes is aborted, and all is as before.',
  },
  volume_move_requested: { meaning: 'A user asked for the volume to move to another node.' },
  volume_move_cancelled: { meaning: 'A user cancelled the move of the volume.' },
  volume_move_started: {
    meaning: 'The volume is to move. It is used as before until a copy on that node is complete.',
  },
  volume_moved: {
    meaning: 'The volume has moved without losing a byte. The message says for how long nothing could use it.',
  },
  volume_move_aborted: {
    meaning: 'The volume stays where it was, and is used there as before. The message says why.',
    remedy: 'Correct what the message names, and ask for the move again; a drain tries again by itself.',
  },
  volume_move_blocked: {
    meaning: 'The node of the volume is drained, and the volume cannot be moved. What mounts it stays there.',
    remedy: 'Do what the message says; the move begins by itself then. Or end the drain: "moor nodes undrain".',
  },
  volume_divergent: {
    meaning:
      'A former primary, or a copy, has what the primary does not have: what was written there and never copied, or in a history that a restore has ended. It was set aside on its node.',
    remedy: 'Look on the machine whether it is needed; "moor describe volume" shows the node and the name.',
  },
  volume_node_silent: {
    meaning: 'The node that has the bytes of the volume sends no heartbeats.',
    remedy: 'Check the machine and its agent: "moor get nodes". The bytes are there again when the node is back.',
  },
  volume_node_gone: {
    meaning: 'The node that had the bytes of the volume is no longer enrolled, and no other copy can take its place.',
    remedy:
      'The message says which nodes may still have them. Where there is none, remove the volume from what mounts it, delete it, and create a new one.',
  },
  volume_epoch_behind: {
    meaning:
      'A node has acted in an epoch of the volume that the control plane does not know of: an old backup was restored. What uses the volume is stopped.',
    remedy:
      'Restore a newer backup of the control plane; docs/OPERATIONS.md says what to do without one. Deleting the nodes that are ahead gives up what only they have.',
  },
  volume_primary_unknown: {
    meaning: 'What the control plane knew of the volume is lost, and no agent says that it has the primary.',
    remedy:
      'Restore a newer backup of the control plane, or bring back all nodes of the volume: when each says for five minutes that it has a copy, one that is complete takes over. Nothing is removed.',
  },
  volume_replica_requested: {
    meaning: 'A user asked for one more copy of the volume, on the node that the message names.',
  },
  volume_replica_removal_requested: {
    meaning: 'A user asked for the removal of a copy of the volume: its bytes are removed from that node.',
  },
  volume_divergent_discarded: {
    meaning: 'A user asked for the removal of bytes that a former primary of the volume has set aside on its node.',
  },
  volume_replica_added: {
    meaning: 'A node was chosen for a copy of the volume. The copy counts once its state is synced.',
  },
  volume_replica_lost: {
    meaning: 'The node that has a copy of the volume sends no heartbeats any more, or was deleted.',
    remedy: 'Bring the node back; after 10 minutes a copy is made elsewhere by itself, where a node can hold it.',
  },
  volume_resize_requested: {
    meaning: 'A user asked for another size of the volume. The agent of its node changes it while it is in use.',
  },
  volume_resizing: {
    meaning: 'The agent of the node is changing the size of the volume.',
    remedy: 'Wait. When it cannot be done the volume is Ready with the size that it has, and says why.',
  },
  volume_resized: { meaning: 'The volume has the size that was asked for.' },
  volume_deletion_requested: {
    meaning: 'A user asked for the deletion of the volume: its bytes are removed from its node first.',
  },
  volume_deleting: {
    meaning: 'The agent of the node is removing the bytes of the volume.',
    remedy: 'Wait a moment; if it lasts, look at the agent of the node and its log.',
  },
  volume_disk_away: {
    meaning:
      'The volume is to be deleted, and the disk of the node that holds its bytes is not mounted: nothing can be removed.',
    remedy:
      'Mount the disk: the deletion goes on by itself. If it is gone for good, remove volume-disk.json from the state folder of the agent.',
  },
  recommendation_appeared: {
    meaning: 'Something would make a volume safer or cheaper. The message has the measurement and the arithmetic.',
    remedy: '"moor recommendations" lists what holds now; "moor recommendations apply <id>" applies one.',
  },
  recommendation_changed: { meaning: 'A recommendation has become more urgent, or less.' },
  recommendation_vanished: { meaning: 'The condition of a recommendation does not hold any more.' },
  recommendation_applied: { meaning: 'A user applied a recommendation: the volume is changed as it says.' },
  recommendation_auto_applied: {
    meaning: 'A recommendation to grow a volume was applied by itself, because the tenant has switched that on.',
    remedy: '"moor recommendations auto-apply off" switches it off.',
  },
  auto_apply_changed: { meaning: 'The tenant has switched on or off that volumes are grown as recommended.' },
  volume_deleted: { meaning: 'The volume is gone. The message says what became of its bytes.' },
  volume: {
    meaning: 'Filter: the workload mounts a volume whose bytes are on another node, or that does not exist.',
    remedy: 'Make the node of the volume ready, or change volumes; "moor get volumes" shows the node of each.',
  },
  volume_busy: {
    meaning: 'Another container on the node still writes to a volume that the container is to write to.',
    remedy: 'Wait until that one has stopped; the message names it. The agent tries again.',
  },
  volume_held: {
    meaning:
      'The container waits for a volume that it mounts: the volume moves, a copy takes over, or its node has sent no heartbeats for so long that a copy may have taken over.',
    remedy: 'Wait: the message says what for. "moor describe volume" shows how far that is.',
  },
  volume_missing: {
    meaning: 'A volume that the container mounts is not on the node yet, or cannot be mounted there.',
    remedy: '"moor get volumes" shows the state of each; the agent tries again.',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
