/**
 * Failpoints: named steps at which a test can kill a process, in order to check the state it leaves behind.
 *
 * They are part of the released product and do nothing until `MOORING_FAILPOINTS` arms some of them for a process:
 *
 *     MOORING_FAILPOINTS=rotation.raised=kill,agent.created=kill@2 moor controllers
 *
 * `kill` is SIGKILL, with nothing flushed and nothing closed; `error` throws. A new step that changes something outside of
 * the process needs a row in `failpoints`, a call of `failpoint` at the step, and a test that kills the process there.
 *
 * @module
 */
import { writeSync } from 'node:fs';

import { Fault } from '../fault/index.js';

/**
 * Every failpoint, with the progress of the work when it is passed. Each is passed at one place in the product and named
 * in some test: `make verify` checks both.
 */
export const failpoints = {
  // A deployment that is created, changed or brought back, in the API server.
  'deployment.storing': 'the deployment is judged, nothing is stored',
  'deployment.stored': 'the deployment is stored with its archive and its events, the request is not answered',

  // A network, a scaling policy or a backup that is written or removed, in the API server.
  'network.storing': 'the network is judged, nothing is stored',
  'network.stored': 'the network is stored with its event, the request is not answered',
  'network.removing': 'nothing joins the network, which is stored',
  'network.removed': 'the network is removed from the store, the request is not answered',
  'policy.storing': 'the scaling policy is judged, nothing is stored',
  'policy.stored': 'the scaling policy is stored with its event, the request is not answered',
  'policy.removing': 'the scaling policy is about to be removed',
  'policy.removed': 'the scaling policy is removed, the request is not answered',
  'backup.storing': 'the backup is made, nothing is stored',
  'backup.stored': 'the backup is stored whole with its event, the request is not answered',

  // Secret material that comes with a document, in the API server.
  'material.planned': 'nothing is stored',
  'material.intent_stored': 'the intent is stored, no version is written',
  'material.version_written': 'a version of one credential is written, and is not visible yet',
  'material.staged': 'all versions are written, the record is not stored',
  'material.record_stored': 'the record is stored, its versions are not current',
  'material.promoted': 'the versions are current, the intent still exists',
  'material.settled': 'everything is done, the request is not answered',
  'material.undoing': 'the record is refused, its versions still exist',
  'material.undone': 'the versions are destroyed, the intent still exists',

  // Clean-up after a crash in one of the steps above, in the janitor.
  'janitor.marked': 'the intent is given up, its versions still exist',
  'janitor.destroyed': 'the versions are destroyed, the intent still exists',
  'janitor.promoted': 'the versions are current, the intent still exists',
  'janitor.finished': 'the intent is removed',

  // The request for a phase of a rotation, in the API server.
  'rotation.asking': 'the phase is validated, nothing is stored',
  'rotation.asked': 'the phase is stored, the request is not answered',
  'rotation.supplying': 'the rotation is stored, the values that came with it are not',
  'rotation.supplied': 'the values are staged, the request is not answered',

  // The execution of a phase of a rotation, in the rotation phaser. Each may be passed in several phases.
  'rotation.secret_changing': 'the secrets store is about to mint, promote or destroy a version',
  'rotation.secret_changed': 'the secrets store is changed, the change is not recorded',
  'rotation.raising': 'the secretsVersion of a consumer is about to be raised',
  'rotation.raised': 'the secretsVersion of a consumer is raised',
  'rotation.waiting': 'what the phase waits for is not recorded',
  'rotation.waited': 'what the phase waits for is recorded',
  'rotation.holding': 'the phase holds, which is not recorded',
  'rotation.held': 'it is recorded that the phase holds',

  // A replica that waits for its secrets, in the secret resolver.
  'resolver.resolved': 'every secret is found, the replica is not stamped',
  'resolver.stamped': 'the replica is stamped',

  // The redemption of a ticket, in the API server.
  'delivery.redeeming': 'the values are read, the ticket is not used',
  'delivery.redeemed': 'the ticket is used, no value has been sent',

  // The next step of a job, in the job runner: an attempt is made or ended, or the job is.
  'job.deciding': 'the step is decided, nothing is stored',
  'job.decided': 'the step is stored',

  // The next step of a job with a schedule, in the job scheduler: a run is made or left out.
  'schedule.deciding': 'what becomes of a tick is decided, nothing is stored',
  'schedule.decided': 'the tick is settled',

  // The next step by load, in the autoscaler.
  'scaling.deciding': 'the number of replicas is decided, nothing is stored',
  'scaling.decided': 'the number of replicas is stored with its event',

  // What a network has come to, in the network roller.
  'network.rolling': 'the status of the network is derived, nothing is stored',
  'network.rolled': 'the status of the network is stored',

  // A rollout or its canary begins, comes further, is promoted, fails or is complete, in the replica keeper.
  'rollout.recording': 'what becomes of the rollout is decided, nothing is stored',
  'rollout.recorded': 'what becomes of the rollout is stored, with its event and a revision that it goes back to',

  // The next step of a replica, in the replica keeper.
  'replica.changing': 'a replica is about to be created, retired or removed',
  'replica.changed': 'the replica is created, retired or removed',

  // The networks of a node, in its agent.
  'agent.network_created': 'the engine has the network; it may still lead out, and is not reported',
  'agent.network_removed': 'the engine has the network no more',

  // The creation and the removal of a container, in the agent.
  'agent.secrets_fetched': 'the ticket is used, the container does not exist',
  'agent.created': 'the container is created, not started',
  'agent.attempt_noted': 'it is noted that the container of an attempt is started, which it is not',
  'agent.started': 'the container is started, which is not reported',
  'agent.stopping': 'the old container runs, and is about to be stopped',
  'agent.stopped': 'the old container has stopped, which is not observed',
  'agent.removed': 'the old container is removed, which is not reported',

  // A volume on the disk of a node, in the agent.
  'volume.recorded': 'the size of a new volume is recorded, nothing else is there',
  'volume.resizing': 'the new size is recorded, the volume has the old one',
  'volume.resized': 'the volume has the new size, which is not answered',
  'volume.received': 'a stream is received and checked, and is not a snapshot yet',
  'volume.accepted': 'the stream is a snapshot, which is not answered',
  'volume.snapshot_taken': 'a snapshot for copies is taken, the moment that it shows is not recorded',
  'volume.final_taken': 'the last snapshot before a move is taken, which is not recorded as the last',
  'volume.sending': 'a part of a snapshot is sent to another node',
  'volume.synced': 'it is recorded which moment a copy shows, the sender does not know of it',
  'volume.copy_given_up': 'a copy that the next one does not fit beside counts no more, and is there',
  'volume.copy_promoted': 'the volume is what its copy was, which is not recorded',
  'volume.set_aside': 'what a former primary holds is kept as a snapshot, which is not recorded',
  'volume.promoting': 'what the volume is to hold lies beside what it holds',
  'volume.swapping': 'the files that it held are moved aside, the new ones are not in their place',
  'volume.released': 'the volume holds nothing of the machine but its files',
  'volume.removed': 'a removed volume is out of its place, with all that it holds',
  'volume.deleting': 'what was kept of a removed volume cannot be brought back any more, and is still there',
  'volume.formatted': 'the image of a volume is complete, and not in its place',
  'volume.attached': 'the image has a loop device, and is not mounted',
  'volume.image_grown': 'the image has its new size, the file system in it has the old one',
  'volume.shrunk': 'the file system has its new size, its image has the old one',
} as const;

export type FailpointName = keyof typeof failpoints;

/** Thrown at a point that is armed with `error`. */
export class FailpointFault extends Fault {
  readonly retriable = true;
}

/** The text names no failpoint, or an action other than `kill` and `error`. */
export class FailpointSyntaxFault extends Fault {
  readonly retriable = false;
}

interface ArmedPoint {
  readonly action: 'kill' | 'error';
  /** Passes until it acts. It acts once. */
  left: number;
}

const ARM = /^([a-z_.]+)=(kill|error)(?:@([1-9]\d*))?$/;
const armed = new Map<FailpointName, ArmedPoint>();
let observer: ((name: FailpointName) => void) | undefined;

/** A step at which the process can be made to fail. Does nothing unless the point is armed. */
export function failpoint(name: FailpointName): void {
  observer?.(name);
  if (armed.size > 0) pass(name);
}

/**
 * Calls `onPass` at every pass of every point, before it acts: for simulations, in which many processes are one, and only one
 * of them is to die. Returns a function that ends it.
 */
export function observeFailpoints(onPass: (name: FailpointName) => void): () => void {
  observer = onPass;
  return () => {
    observer = undefined;
  };
}

/**
 * Arms points in this process: `rotation.raised=kill@2,agent.created=error` kills it at the second pass of the first point
 * and throws a `FailpointFault` at the first pass of the other. Returns a function that disarms them.
 */
export function arm(text: string): () => void {
  const parsed = text.split(',').filter(Boolean).map(parse);
  for (const [name, point] of parsed) armed.set(name, point);
  return () => {
    for (const [name] of parsed) armed.delete(name);
  };
}

function parse(part: string): readonly [FailpointName, ArmedPoint] {
  const [, name = '', action, left = '1'] = ARM.exec(part) ?? [];
  if (!Object.hasOwn(failpoints, name)) throw new FailpointSyntaxFault(`there is no failpoint "${name}"`);
  return [name as FailpointName, { action: action as ArmedPoint['action'], left: Number(left) }];
}

function pass(name: FailpointName): void {
  const point = armed.get(name);
  if (!point || --point.left > 0) return;
  armed.delete(name);
  if (point.action === 'error') throw new FailpointFault(`failpoint ${name}: ${failpoints[name]}`);
  writeSync(process.stderr.fd, `failpoint ${name}: killed\n`);
  process.kill(process.pid, 'SIGKILL');
}

arm(process.env['MOORING_FAILPOINTS'] ?? '');
