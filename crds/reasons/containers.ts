import type { ReasonEntry } from './events.js';

const RETRIED = 'The agent tries again with a growing back-off.';

/** Of single replicas and their containers. */
export const containerReasons = {
  container_failed: { meaning: 'The container failed.', remedy: '"moor describe deployment {name}" has the message.' },
  container_exited: {
    meaning: 'The program in the container has ended. It is started again.',
    remedy: '"moor logs {name}" shows what it printed; a program that should end is no deployment.',
  },
  crash_loop: {
    meaning: 'The program in the container ends again and again within a minute. It is started again with a back-off.',
    remedy:
      '"moor logs {name}" shows what it printed before it ended; correct the program, its command or its environment.',
  },
  oom_killed: {
    meaning: 'The kernel killed the program, because it reached the memory limit of its container.',
    remedy: 'Raise resources.limits.memory, or have the program use less.',
  },
  disk_limit_exceeded: {
    meaning:
      'The container wrote more to its own file system than its node allows. It was removed, and a fresh one is started with a back-off; an attempt of a job has failed.',
    remedy:
      'Have the program write less outside of volumes, or have the operator raise --container-disk-limit of the agent.',
  },
  exited: { meaning: 'The program in the container has ended.', remedy: '"moor logs {name}" shows what it printed.' },
  failed: {
    meaning: 'The container could not be created or started.',
    remedy: '"moor describe deployment {name}" has the message.',
  },
  unknown: { meaning: 'The state of the container is not known.', remedy: 'Check its node: "moor get nodes".' },
  not_ready: {
    meaning: 'The container does not become ready, and nothing says why.',
    remedy: 'Read its log: "moor logs {name}".',
  },
  unhealthy: {
    meaning: 'The health check of the container fails.',
    remedy: '"moor logs {name}" shows what the program printed; check the command of the health check.',
  },
  health_check_failing: {
    meaning: 'The last health check failed, but not yet as often as makes the container unhealthy.',
    remedy: '"moor describe deployment {name}" shows what the check printed; correct the program or its health check.',
  },
  start_backoff: {
    meaning: 'Earlier starts from this template failed in this slot; the next attempt follows.',
    remedy: '"moor logs {name}" shows what earlier containers printed.',
  },
  image_pull_failed: {
    meaning: `The node cannot pull the image. ${RETRIED}`,
    remedy: 'Check the name and tag of the image, that its registry can be reached from the node, and its credentials.',
  },
  image_login_required: {
    meaning: `The registry of the image requires a login, and the tenant has none for it. ${RETRIED}`,
    remedy: 'Write host, username and password with "moor secrets" to the secret that the message names.',
  },
  image_credential_refused: {
    meaning: `The registry of the image refuses the login of the tenant. ${RETRIED}`,
    remedy: 'Write the right username and password with "moor secrets" to the secret that the message names.',
  },
  image_refused: {
    meaning: 'The policy of the node allows no image from there.',
    remedy: 'Use a registry that the operator of the control plane allows (settings registry*).',
  },
  pull_failed: {
    meaning: `The engine refused to pull the image. ${RETRIED}`,
    remedy: 'Check the image and the engine of the node.',
  },
  create_failed: {
    meaning: `The engine refused to create the container. ${RETRIED}`,
    remedy: 'The message has the words of the engine; correct the deployment or the machine.',
  },
  start_failed: {
    meaning: `The engine could not start the container. ${RETRIED}`,
    remedy:
      'The message has the words of the engine: often a command that the image does not have, or a host port in use.',
  },
  restart_failed: {
    meaning: `The engine could not start the container again. ${RETRIED}`,
    remedy: 'The message has the words of the engine.',
  },
  stop_failed: { meaning: 'The engine could not stop the container.', remedy: 'Check the engine of the node.' },
  remove_failed: { meaning: 'The engine could not remove the container.', remedy: 'Check the engine of the node.' },
  pull_stuck: {
    meaning: 'The engine is pulling the image, and has received nothing of it for a minute.',
    remedy: 'Check that the node reaches the registry, and the engine and the disk of the node.',
  },
  create_stuck: {
    meaning: 'The engine takes too long to create the container.',
    remedy: 'Check the engine and the disk of the node.',
  },
  stop_stuck: {
    meaning: 'The engine takes too long to stop or remove the container.',
    remedy: 'Check the engine of the node.',
  },
  report_missing: {
    meaning:
      'The replica was given to its node, whose agent sends heartbeats, but the agent has reported nothing of it.',
    remedy: 'Look at the log of the agent of that node, and restart it: it begins by reporting everything.',
  },
  stop_overdue: {
    meaning: 'The container was to be removed some time ago, and its agent has not said that it is gone.',
    remedy: 'Check the node and its agent; if the machine is off for good, "moor nodes fence <node>".',
  },
  name_conflict: {
    meaning: 'Another container on the machine has the name that this one needs.',
    remedy: 'Remove the container that Mooring did not create.',
  },
  host_port_reserved: {
    meaning: 'The host port is one of the platform’s own on this node.',
    remedy: 'Choose another hostPort.',
  },
  assignment_outdated: {
    meaning: 'The node already received a newer generation of this slot.',
    remedy: 'If etcd was restored from a backup, run "moor admin restore".',
  },
  agent_failed: { meaning: 'The agent met an error of its own.', remedy: 'Read the log of the agent on the node.' },
  network_missing: {
    meaning: 'A network that the replica joins is not on the node yet. The agent tries again.',
    remedy: '"moor describe network <network>" says whether the engine of the node has created it.',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
