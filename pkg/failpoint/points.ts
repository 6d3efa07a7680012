/**
 * Every failpoint there is, and how far the work has come when it is passed. Each is passed at one place in the product
 * and named in some test: `make verify` checks both.
 */
export const points = {
  // Secret material that comes with a document, in the API server.
  'material.planned': 'nothing is stored',
  'material.intent_stored': 'the intent is stored, no version is written',
  'material.version_written': 'a version of one credential is written, which nobody sees',
  'material.staged': 'all versions are written, the record is not stored',
  'material.record_stored': 'the record is stored, its versions are not current',
  'material.promoted': 'the versions are current, the intent is still there',
  'material.settled': 'everything is done, nobody was answered',
  'material.undoing': 'the record is refused, its versions are still there',
  'material.undone': 'the versions are destroyed, the intent is still there',

  // What is left of that after a crash, in the janitor.
  'janitor.marked': 'the intent is given up, its versions are still there',
  'janitor.destroyed': 'the versions are destroyed, the intent is still there',
  'janitor.promoted': 'the versions are current, the intent is still there',
  'janitor.finished': 'the intent is gone',

  // A phase of a rotation that is asked for, in the API server.
  'rotation.asking': 'the phase is judged, nothing is stored',
  'rotation.asked': 'the phase is stored, nobody was answered',
  'rotation.supplying': 'the rotation is stored, the values that came with it are not',
  'rotation.supplied': 'the values are staged, nobody was answered',

  // A phase of a rotation that is carried out, in the rotation phaser. Each may be passed in several phases.
  'rotation.secret_changing': 'the secrets store is about to be changed: minted, turned or destroyed',
  'rotation.secret_changed': 'the secrets store is changed, nothing is recorded',
  'rotation.raising': 'a consumer is about to be made anew',
  'rotation.raised': 'a consumer is being made anew',
  'rotation.waiting': 'what the phase waits for is not recorded',
  'rotation.waited': 'what the phase waits for is recorded',
  'rotation.holding': 'the phase holds, that is not recorded',
  'rotation.held': 'that the phase holds is recorded',

  // A replica on its way to its secrets, in the secret resolver.
  'resolver.resolved': 'everything is found, the replica is not stamped',
  'resolver.stamped': 'the replica is stamped',

  // A ticket that is shown, in the API server.
  'delivery.redeeming': 'the values are read, the ticket is not used',
  'delivery.redeemed': 'the ticket is used, no value has left',

  // A container that is made or taken down, in the agent.
  'agent.secrets_fetched': 'the ticket is used, there is no container',
  'agent.created': 'the container is made, not started',
  'agent.started': 'the container is started, that is not reported',
  'agent.stopping': 'the old container runs, and is to stop',
  'agent.stopped': 'the old container has stopped, that is not seen',
  'agent.removed': 'the old container is gone, that is not reported',
} as const;

/** The name of a failpoint. */
export type FailpointName = keyof typeof points;
