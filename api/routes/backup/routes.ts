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
import { failpoint } from '../../../pkg/failpoint/index.js';
import { findHistory, listRevisions } from '../../../pkg/history/index.js';
import { encode, type Entry, readValue, value } from '../../../pkg/store/index.js';
import { putConflictKeys } from '../../admission/conflict-keys.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { checkCountQuota, findBytesReached, listCountConflictKeys } from '../../admission/quota.js';
import type { BackedUpCanary } from '../../admission/restore.js';
import { findPolicy } from '../../admission/scaling.js';
import { isFields } from '../../http/body.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { checkIfMatch } from '../../write/if-match.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { findDeployment } from '../deployment/view.js';
import { submitDeployment } from '../deployment/write.js';

const COLLECTION = backupKind.path;
const ONE = `${COLLECTION}/${backupKind.item}`;

/** Backups: copies of the configuration of deployments, and the way back. */
export function createBackupRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => createBackup(env, call)),
    defineRoute('deployer', 'POST', `${COLLECTION}/import`, call => importBackup(env, call)),
    defineRoute('viewer', 'GET', ONE, call => showBackup(env, call)),
    defineRoute('deployer', 'DELETE', ONE, call => deleteBackup(env, call)),
    defineRoute('deployer', 'POST', `${ONE}/restore`, call => restoreBackup(env, call), { body: 'none' }),
  ];
}

async function createBackup(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkBackupRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { deploymentName } = checked.value;
  const { cache } = env;
  await cache.barrier();
  const entry = findDeployment(cache, call.tenant, deploymentName);
  if (entry instanceof RequestRejection) return rejectRequest('deployment_not_found', 'deploymentName', deploymentName);

  const deployment = value<StoredDeployment>(entry);
  const { generation, specHash } = deployment.metadata;
  const record = readValue<RolloutRecord>(cache, keys.rollout(call.tenant, deploymentName));
  const history = findHistory(cache, call.tenant, deploymentName);
  const kept = history ? await listRevisions(env.store, call.tenant, history) : [];
  // A change that was stored since belongs to no backup of this moment.
  const past = kept.filter(({ revision }) => revision <= generation);
  const revisions = chooseBackupRevisions(past);
  const backup = {
    id: createTypedId('bak', count => env.random.bytes(count)),
    deploymentName,
    createdAt: new Date(env.clock.now()).toISOString(),
    createdBy: call.caller.id,
    specHash,
    secretsVersion: deployment.secretsVersion,
    spec: toSpec(deployment),
    scalingPolicy: toBackupPolicy(env, deployment),
    canaryState: toCanaryState(deployment, record),
    revisions,
    revisionsOmitted: past.length - revisions.length,
  };
  return storeBackup(env, call, { ...backup, checksum: computeBackupChecksum(backup) }, 'backed_up');
}

/** The scaling policy of a deployment, as far as a client may send it. */
function toBackupPolicy({ cache }: AdmissionEnv, deployment: StoredDeployment): Backup['scalingPolicy'] {
  const { stored } = findPolicy(cache, deployment);
  return stored ? { ...toScalingPolicy(stored) } : null;
}

/** What answers add to a backup. One that is sent back with it is imported without it. */
const READ_ONLY = ['metadata', 'alterations', 'warnings'];

async function importBackup(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const sent = isFields(call.document) ? Object.entries(call.document) : undefined;
  const fields = sent && Object.fromEntries(sent.filter(([name]) => !READ_ONLY.includes(name)));
  const checked = checkBackupImport(fields ?? call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const dropped = (sent ?? []).filter(([name]) => READ_ONLY.includes(name));
  const alterations = dropped.map(([field]) => ({ field, from: null, to: null, why: 'set by the server only' }));
  return storeBackup(env, call, checked.value, 'imported', alterations);
}

/** Stores a backup: the same one again changes nothing and gets the same answer. */
async function storeBackup(
  env: AdmissionEnv,
  call: ApiCall,
  backup: Backup,
  reason: 'backed_up' | 'imported',
  alterations: readonly Alteration[] = [],
): Promise<RouteResult> {
  const { tenant } = call;
  return env.mutex.run(listCountConflictKeys(env, tenant, 'backups'), () =>
    retryOnConflict(backup.id, async () => {
      await env.cache.barrier();
      const existing = env.cache.get(keys.backup(tenant, backup.id));
      if (existing) {
        const stored = value<StoredBackup>(existing);
        if (stored.checksum !== backup.checksum) return rejectRequest('backup_already_exists', 'id', backup.id);
        return answer(200, stored, backup, existing.revision, alterations);
      }
      const quota = checkCountQuota(env, tenant, 'backups');
      if (quota.reached !== undefined)
        return rejectRequest('quota_reached', 'deploymentName', tenant, { kind: 'backups', limit: quota.reached });
      const record = toRecord(env, tenant, backup);
      const bytesLimit = findBytesReached(env, tenant, 'backupBytes', record.bytes);
      if (bytesLimit !== undefined) {
        const given = { kind: 'bytes of backups', limit: bytesLimit };
        return rejectRequest('quota_reached', 'deploymentName', tenant, given);
      }
      if (call.isDryRun) return replyDryRun({ after: backup, alterations });

      const key = keys.backup(tenant, backup.id);
      failpoint('backup.storing');
      const write = env.store.commit({
        guards: [{ key, at: 0 }, { key: keys.tenant(tenant), exists: true }, ...quota.guards],
        puts: [
          { key, bytes: encode(record) },
          { key: keys.backupContent(tenant, backup.id), bytes: encode(toContent(backup)) },
          await env.events.put(draftEvent('backup.created', call, backup, reason)),
          ...(await putConflictKeys(env.conflictLeases, quota.conflictKeys, call.requestId)),
        ],
        deletes: [],
      });
      if (!(await waitUntilStored(env.cache, write))) return undefined;
      failpoint('backup.stored');
      const revision = env.cache.get(key)?.revision ?? 0;
      return answer(201, record, backup, revision, alterations);
    }),
  );
}

function answer(
  status: number,
  { metadata }: StoredBackup,
  backup: Backup,
  revision: number,
  alterations: readonly Alteration[],
): RouteResult {
  const shown = { metadata: { revision: String(revision), ...metadata }, ...backup };
  const headers = { ...buildEtagHeader(revision), ...(status === 201 && { location: `${COLLECTION}/${backup.id}` }) };
  return { ...replyJson(status, { ...shown, alterations, warnings: [] }, headers), alterations };
}

function toRecord({ clock }: AdmissionEnv, tenant: string, backup: Backup): StoredBackup {
  const { id, deploymentName, createdAt, createdBy, specHash, secretsVersion, checksum, revisions } = backup;
  const now = new Date(clock.now()).toISOString();
  const bytes = Buffer.byteLength(JSON.stringify(backup));
  return {
    metadata: { tenant, uid: id, generation: 1, createdAt: now, updatedAt: now, specHash },
    id,
    deploymentName,
    createdAt,
    createdBy,
    specHash,
    secretsVersion,
    revisionCount: revisions.length,
    bytes,
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

/** A backup whole, as it is stored. */
interface FoundBackup {
  readonly entry: Entry;
  readonly content: Entry;
  readonly record: StoredBackup;
  readonly backup: Backup;
}

async function loadBackup(
  { cache, store }: AdmissionEnv,
  { tenant, params }: ApiCall,
): Promise<FoundBackup | RequestRejection> {
  await cache.barrier();
  const id = params['id']!;
  const entry = isTypedId('bak', id) ? cache.get(keys.backup(tenant, id)) : undefined;
  const content = entry && (await store.get(keys.backupContent(tenant, id)));
  if (!content) return rejectRequest('resource_not_found', 'id', id);
  const record = value<StoredBackup>(entry);
  const { metadata: _, revisionCount: __, bytes: ___, checksum, ...about } = record;
  return { entry, content, record, backup: { ...about, ...value<BackupContent>(content), checksum } };
}

async function showBackup(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const found = await loadBackup(env, call);
  if (found instanceof RequestRejection) return found;
  const { entry, record, backup } = found;
  const { revision } = entry;
  const shown = { metadata: { revision: String(revision), ...record.metadata }, ...backup };
  return replyJson(200, shown, buildEtagHeader(revision));
}

async function deleteBackup(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  return retryOnConflict(call.params['id']!, async () => {
    const found = await loadBackup(env, call);
    if (found instanceof RequestRejection) return found;
    const { entry, content, record } = found;
    const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, entry);
    if (mismatch) return mismatch;
    if (call.isDryRun) return replyDryRun({ before: record });
    const write = env.store.commit({
      guards: [{ key: entry.key, at: entry.revision }],
      puts: [],
      deletes: [entry.key, content.key],
    });
    if (!(await waitUntilStored(env.cache, write))) return undefined;
    return replyJson(200, { ...record, alterations: [], warnings: [] });
  });
}

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
  return submitDeployment(env, call, {
    load: async () => {
      await env.cache.barrier();
      return env.cache.get(keys.deployment(tenant, deploymentName));
    },
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
}

/** The canary that was under way, with what ran beside it where that is part of the backup. */
function toBackedUpCanary({ canaryState, revisions }: Backup): { readonly canary?: BackedUpCanary } {
  if (!canaryState) return {};
  const { revision, completedRevision } = canaryState as Omit<BackedUpCanary, 'beside'>;
  return {
    canary: { revision, completedRevision, beside: revisions.find(each => each.revision === completedRevision) },
  };
}
