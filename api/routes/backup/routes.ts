import {
  type Backup,
  type BackupContent,
  backupKind,
  checkBackupImport,
  checkBackupRequest,
  chooseBackupRevisions,
  computeBackupChecksum,
  type StoredBackup,
} from '../../../crds/backup/index.js';
import { type StoredDeployment, toReplacement, toScalingPolicy, toSpec } from '../../../crds/deployment/index.js';
import { createTypedId, isTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { type RolloutRecord, toCanaryState } from '../../../crds/rollout/index.js';
import type { Alteration } from '../../../crds/rule/index.js';
import { findHistory, listRevisions } from '../../../pkg/history/index.js';
import { encode, type Entry, readValue, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { findBytesReached, findCountReached, guardQuotas, listCountConflictKeys } from '../../admission/quota.js';
import type { BackedUpCanary } from '../../admission/restore.js';
import { findPolicy } from '../../admission/scaling.js';
import { isFields } from '../../http/body.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { type WriteInput, write, type Writing } from '../../write/write.js';
import { findDeployment } from '../deployment/view.js';
import { defineSubmission } from '../deployment/write.js';

const COLLECTION = backupKind.path;
const ONE = `${COLLECTION}/${backupKind.item}`;

/** Backups: copies of the configuration of deployments, and the way back. */
export function createBackupRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => write(env, call, creation)),
    defineRoute('deployer', 'POST', `${COLLECTION}/import`, call => write(env, call, importing)),
    defineRoute('viewer', 'GET', ONE, call => showBackup(env, call)),
    defineRoute('deployer', 'DELETE', ONE, call => write(env, call, removal)),
    defineRoute('deployer', 'POST', `${ONE}/restore`, call => restoreBackup(env, call), { body: 'none' }),
  ];
}

async function makeBackup(
  env: AdmissionEnv,
  { document, tenant, caller }: ApiCall,
): Promise<SubmittedBackup | RequestRejection> {
  const checked = checkBackupRequest(document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { deploymentName } = checked.value;
  const { cache } = env;
  const entry = findDeployment(cache, tenant, deploymentName);
  if (entry instanceof RequestRejection) return rejectRequest('deployment_not_found', 'deploymentName', deploymentName);

  const deployment = value<StoredDeployment>(entry);
  const { generation, specHash } = deployment.metadata;
  const record = readValue<RolloutRecord>(cache, keys.rollout(tenant, deploymentName));
  const history = findHistory(cache, tenant, deploymentName);
  const kept = history ? await listRevisions(env.store, tenant, history) : [];
  // A change that was stored since belongs to no backup of this moment.
  const past = kept.filter(({ revision }) => revision <= generation);
  const revisions = chooseBackupRevisions(past);
  const backup = {
    id: createTypedId('bak', count => env.random.bytes(count)),
    deploymentName,
    createdAt: new Date(env.clock.now()).toISOString(),
    createdBy: caller.id,
    specHash,
    secretsVersion: deployment.secretsVersion,
    spec: toSpec(deployment),
    scalingPolicy: toBackupPolicy(env, deployment),
    canaryState: toCanaryState(deployment, record),
    revisions,
    revisionsOmitted: past.length - revisions.length,
  };
  return { backup: { ...backup, checksum: computeBackupChecksum(backup) }, alterations: [] };
}

/** The scaling policy of a deployment, as far as a client may send it. */
function toBackupPolicy({ cache }: AdmissionEnv, deployment: StoredDeployment): Backup['scalingPolicy'] {
  const { stored } = findPolicy(cache, deployment);
  return stored ? { ...toScalingPolicy(stored) } : null;
}

/** What answers add to a backup. One that is sent back with it is imported without it. */
const READ_ONLY = ['metadata', 'alterations', 'warnings'];

function readImport({ document }: ApiCall): SubmittedBackup | RequestRejection {
  const sent = isFields(document) ? Object.entries(document) : undefined;
  const fields = sent && Object.fromEntries(sent.filter(([name]) => !READ_ONLY.includes(name)));
  const checked = checkBackupImport(fields ?? document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const dropped = (sent ?? []).filter(([name]) => READ_ONLY.includes(name));
  const alterations = dropped.map(([field]) => ({ field, from: null, to: null, why: 'set by the server only' }));
  return { backup: checked.value, alterations };
}

/** A backup that is to be stored. */
interface SubmittedBackup {
  readonly backup: Backup;
  readonly alterations: readonly Alteration[];
}

/** How a backup is stored: the same one again changes nothing and gets the same answer. */
function defineStorage(
  reason: 'backed_up' | 'imported',
  facts: NonNullable<Writing<AdmissionEnv, SubmittedBackup, undefined>['facts']>,
): Writing<AdmissionEnv, SubmittedBackup, Entry | undefined> {
  return {
    name: 'backup',
    points: ['backup.storing', 'backup.stored'],
    conflictKeys: (env, { tenant }) => listCountConflictKeys(env, tenant, 'backups'),
    facts,
    judge: ({ call: { tenant }, facts: { backup } }, env) => {
      const existing = env.cache.get(keys.backup(tenant, backup.id));
      if (existing) {
        const isSame = value<StoredBackup>(existing).checksum === backup.checksum;
        return isSame ? existing : rejectRequest('backup_already_exists', 'id', backup.id);
      }
      const reject = (kind: string, limit: number) =>
        rejectRequest('quota_reached', 'deploymentName', tenant, { kind, limit });
      const count = findCountReached(env, tenant, 'backups');
      if (count !== undefined) return reject('backups', count);
      const bytes = findBytesReached(env, tenant, 'backupBytes', countBytes(backup));
      return bytes === undefined ? undefined : reject('bytes of backups', bytes);
    },
    plan: (given, existing, { cache }) => {
      const { call, facts: submitted } = given;
      const { backup, alterations } = submitted;
      if (existing) return { before: backup, after: backup, alterations, shown: existing };
      const { tenant } = call;
      return {
        record: { key: keys.backup(tenant, backup.id), bytes: encode(toRecord(given, backup)) },
        puts: [{ key: keys.backupContent(tenant, backup.id), bytes: encode(toContent(backup)) }],
        guards: [guardQuotas(cache, tenant)],
        events: [draftEvent('backup.created', call, backup, reason)],
        after: backup,
        alterations,
        location: `${COLLECTION}/${backup.id}`,
      };
    },
    show: (_env, written, { facts: { backup } }) => toBackupView(written, backup),
  };
}

const creation = defineStorage('backed_up', makeBackup);
const importing = defineStorage('imported', (_env, call) => readImport(call));

function toBackupView(entry: Entry, backup: Backup) {
  return { metadata: { revision: String(entry.revision), ...value<StoredBackup>(entry).metadata }, ...backup };
}

function countBytes(backup: Backup): number {
  return Buffer.byteLength(JSON.stringify(backup));
}

function toRecord({ call: { tenant }, now }: WriteInput, backup: Backup): StoredBackup {
  const { id, deploymentName, createdAt, createdBy, specHash, secretsVersion, checksum, revisions } = backup;
  return {
    metadata: { tenant, uid: id, generation: 1, createdAt: now, updatedAt: now, specHash },
    id,
    deploymentName,
    createdAt,
    createdBy,
    specHash,
    secretsVersion,
    revisionCount: revisions.length,
    bytes: countBytes(backup),
    checksum,
  };
}

function toContent(backup: Backup): BackupContent {
  const { spec, scalingPolicy, canaryState, revisions, revisionsOmitted } = backup;
  return { spec, scalingPolicy, canaryState, revisions, revisionsOmitted };
}

const DONE = { backed_up: 'was backed up', imported: 'has an imported backup', restored: 'was restored' } as const;

function draftEvent(
  type: 'backup.created' | 'backup.restored',
  { tenant, caller }: ApiCall,
  { id, deploymentName, checksum, createdAt }: Backup,
  reason: keyof typeof DONE,
) {
  return {
    type,
    tenant,
    subject: { kind: 'Backup', name: deploymentName, id },
    reason,
    message: `deployment ${deploymentName} ${DONE[reason]} by ${describeCaller(caller)}: backup ${id} of ${createdAt}`,
    data: { deployment: deploymentName, by: caller.id, checksum },
  } as const;
}

function findBackup({ cache }: Pick<AdmissionEnv, 'cache'>, { tenant, params }: ApiCall): Entry | RequestRejection {
  const id = params['id']!;
  const entry = isTypedId('bak', id) ? cache.get(keys.backup(tenant, id)) : undefined;
  return entry ?? rejectRequest('resource_not_found', 'id', id);
}

/** A backup whole, as it is stored. */
async function loadBackup(
  env: AdmissionEnv,
  call: ApiCall,
): Promise<{ readonly entry: Entry; readonly backup: Backup } | RequestRejection> {
  await env.cache.barrier();
  const entry = findBackup(env, call);
  if (entry instanceof RequestRejection) return entry;
  const record = value<StoredBackup>(entry);
  const content = await env.store.get(keys.backupContent(call.tenant, record.id));
  if (!content) return rejectRequest('resource_not_found', 'id', record.id);
  const { metadata: _, revisionCount: __, bytes: ___, checksum, ...about } = record;
  return { entry, backup: { ...about, ...value<BackupContent>(content), checksum } };
}

async function showBackup(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const found = await loadBackup(env, call);
  if (found instanceof RequestRejection) return found;
  const { entry, backup } = found;
  return replyJson(200, toBackupView(entry, backup), buildEtagHeader(entry.revision));
}

const removal: Writing<AdmissionEnv, undefined, StoredBackup> = {
  name: 'backup',
  find: findBackup,
  judge: ({ stored }) => value<StoredBackup>(stored!),
  plan: ({ call, stored }, before) => ({
    deletes: [stored!.key, keys.backupContent(call.tenant, before.id)],
    before,
  }),
  show: (_env, _written, _given, backup) => backup,
};

/**
 * Brings the configuration of a backup back through the admission of any other write: as the next revision of the deployment,
 * whatever it has become, or as a new deployment, which goes on with the canary that it had. One transaction stores it all.
 * Where the name has no history, as on another installation, the revisions of the backup come with it.
 */
async function restoreBackup(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const found = await loadBackup(env, call);
  if (found instanceof RequestRejection) return found;
  const { backup } = found;
  if (computeBackupChecksum(backup) !== backup.checksum) {
    return rejectRequest('backup_checksum_mismatch', 'checksum', backup.checksum);
  }
  const { tenant } = call;
  const { spec, deploymentName, id, revisions, scalingPolicy } = backup;
  const submission = defineSubmission({
    find: ({ cache }) => cache.get(keys.deployment(tenant, deploymentName)),
    toDocument: stored => toReplacement(spec, stored),
    origin: {
      change: 'restore',
      fromBackup: id,
      name: deploymentName,
      secretsVersion: Math.max(spec.secretsVersion, ...revisions.map(({ secretsVersion }) => secretsVersion)),
      revisions,
      scalingPolicy,
      events: [draftEvent('backup.restored', call, backup, 'restored')],
      ...toBackedUpCanary(backup),
    },
  });
  return write(env, call, submission);
}

/** The canary that was under way, with what ran beside it where that is part of the backup. */
function toBackedUpCanary({ canaryState, revisions }: Backup): { readonly canary?: BackedUpCanary } {
  if (!canaryState) return {};
  const { revision, completedRevision } = canaryState as Omit<BackedUpCanary, 'beside'>;
  return {
    canary: { revision, completedRevision, beside: revisions.find(each => each.revision === completedRevision) },
  };
}
