import { InvalidSettingFault } from '../pkg/config/index.js';
import { defaultPolicy, type PlacementPolicy } from '../pkg/fleet/index.js';
import type { Loop } from '../pkg/reconcile/index.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import { announceUnusable } from './announce-unusable.js';
import { createAutoscaler } from './autoscaler/index.js';
import { createJanitor, type RetentionLimits } from './janitor/index.js';
import { createJobRunner } from './job-runner/index.js';
import { createJobScheduler } from './job-scheduler/index.js';
import { createNetworkRoller } from './network-roller/index.js';
import { createNodeMonitor } from './node-monitor/index.js';
import {
  findDeploymentOwner,
  findNodeOwner,
  findObjectOwner,
  findSecretOwner,
  findTenantOwner,
  findVolumeOwner,
  recordsOfDeployments,
  recordsOfJobs,
  recordsOfNetworks,
  recordsOfNodes,
  recordsOfRotations,
  recordsOfTenants,
  recordsOfVolumes,
} from './record-owners.js';
import { createReplicaKeeper } from './replica-keeper/index.js';
import { holdUnusable, reportUnusable } from './report-unusable.js';
import { createRotationPhaser } from './rotation-phaser/index.js';
import { createScheduler } from './scheduler/index.js';
import { createSecretResolver } from './secret-resolver/index.js';
import { createStatusRoller } from './status-roller/index.js';
import { createVolumeKeeper } from './volume-keeper/index.js';
import { createVolumeRecommender } from './volume-recommender/index.js';

/** Settings of the loops, times in seconds. Left out: the defaults. */
export interface LoopSettings {
  readonly nodeGraceSeconds?: number;
  readonly rolloutSettleSeconds?: number;
  readonly scheduleDeadlineSeconds?: number;
  readonly volumeManagement?: boolean;
}

/** New instances of every loop that needs no secrets store: a loop may keep state in memory. */
export function createLoops(
  policy: PlacementPolicy = defaultPolicy,
  { nodeGraceSeconds, rolloutSettleSeconds, scheduleDeadlineSeconds, volumeManagement }: LoopSettings = {},
): readonly Loop[] {
  const keeper = createReplicaKeeper(undefined, policy, rolloutSettleSeconds);
  const roller = announceUnusable(createStatusRoller(policy), recordsOfDeployments, findDeploymentOwner);
  return [
    ...[keeper, createScheduler(policy), createAutoscaler()].map(loop => reportUnusable(holdUnusable(loop))),
    reportUnusable(roller),
    announceUnusable(createJobRunner(policy), recordsOfJobs, findObjectOwner),
    createJobScheduler(scheduleDeadlineSeconds),
    announceUnusable(createNodeMonitor(nodeGraceSeconds), recordsOfNodes, findNodeOwner),
    announceUnusable(createNetworkRoller(), recordsOfNetworks, findObjectOwner),
    announceUnusable(createVolumeKeeper(policy), recordsOfVolumes, findVolumeOwner),
    createVolumeRecommender(policy, volumeManagement),
  ];
}

/** The loops that need the secrets store. Without them, deployments with secrets wait. */
export function createSecretLoops(secrets: SecretStore, retention?: RetentionLimits): readonly Loop[] {
  return [
    reportUnusable(holdUnusable(createSecretResolver(secrets))),
    announceUnusable(createRotationPhaser(secrets), recordsOfRotations, findSecretOwner),
    announceUnusable(createJanitor(secrets, retention), recordsOfTenants, findTenantOwner),
  ];
}

/** The names of all loops, known before the loops can be created. */
export const loopNames: readonly string[] = [
  'replica-keeper',
  'scheduler',
  'autoscaler',
  'status-roller',
  'job-runner',
  'job-scheduler',
  'node-monitor',
  'network-roller',
  'volume-keeper',
  'volume-recommender',
  'secret-resolver',
  'rotation-phaser',
  'janitor',
];

/** The loops that `--only` names, separated by commas; without it, all. */
export function selectLoops(only: string | undefined): readonly string[] {
  const chosen = only?.split(',') ?? loopNames;
  const unknown = chosen.find(name => !loopNames.includes(name));
  if (unknown === undefined) return chosen;
  throw new InvalidSettingFault(`there is no loop "${unknown}"; the loops are ${loopNames.join(', ')}`);
}
