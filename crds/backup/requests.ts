import { type Static, Type } from 'typebox';

import { type ArchivedRevision, archiveChanges } from '../archive/index.js';
import { type Deployment, deploymentSchema, scalingSchema } from '../deployment/index.js';
import { FieldPath } from '../grammar/index.js';
import { hashSpec } from '../meta/index.js';
import { reject, type Rejection } from '../rejections/index.js';
import { annotate, type CheckResult, createBodyCheck, dnsLabelSchema, toCheckFailure } from '../rule/index.js';
import { guardPersisted } from '../secret/index.js';
import { isCredential } from '../workload/index.js';
import { type Backup, backupRevisionsBound, chooseBackupRevisions, computeBackupChecksum } from './backup.js';

/** `POST /api/v1/backups`. */
export const backupRequestSchema = Type.Object({ deploymentName: dnsLabelSchema }, { additionalProperties: false });

/** Checks `POST /api/v1/backups`. */
export const checkBackupRequest = createBodyCheck(backupRequestSchema);

const word = Type.String({ maxLength: 128, pattern: '^[\\x20-\\x7e]*$' });
const TIME = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$';
const time = Type.String({
  pattern: TIME,
  ...annotate({ 'x-expected': 'a time such as 2026-01-31T10:00:00.000Z' }),
});
const count = (minimum: number) => Type.Integer({ minimum, maximum: 999_999_999 });
const document = Type.Unsafe<Deployment>({
  type: 'object',
  ...annotate({ 'x-expected': 'a deployment as it is stored' }),
});
const state = Type.Unsafe<Backup['scalingPolicy']>({ type: ['object', 'null'] });
const momentOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'], pattern: TIME });
const canaryState = Type.Unsafe<Backup['canaryState']>({
  type: ['object', 'null'],
  properties: {
    revision: { type: 'integer', minimum: 1 },
    startedAt: { type: 'string', pattern: TIME },
    healthySince: momentOrNull,
    completedRevision: { type: ['integer', 'null'], minimum: 1 },
  },
  additionalProperties: false,
});
const specHash = Type.String({ pattern: '^[0-9a-f]{32}$', ...annotate({ 'x-expected': '32 hexadecimal digits' }) });
const REVISIONS_MAX = 50;

const revisionSchema = Type.Object(
  {
    revision: count(1),
    at: time,
    by: word,
    operation: word,
    change: Type.Enum(archiveChanges, { type: 'string' }),
    reason: Type.Optional(Type.String({ maxLength: 1024 })),
    fromRevision: Type.Optional(count(1)),
    fromBackup: Type.Optional(word),
    specHash,
    secretsVersion: count(0),
    alterations: Type.Array(
      Type.Object(
        { field: Type.String(), from: Type.Unknown(), to: Type.Unknown(), why: Type.String() },
        { additionalProperties: false, required: ['field', 'why'] },
      ),
    ),
    spec: document,
  },
  { additionalProperties: false },
);

/** `POST /api/v1/backups/import`: a backup as it was exported. */
export const backupImportSchema = Type.Object(
  {
    id: Type.String({
      pattern: '^bak_[0-9a-hjkmnp-tv-z]{26}$',
      ...annotate({ 'x-expected': 'the id of a backup: bak_ and 26 characters' }),
    }),
    deploymentName: dnsLabelSchema,
    createdAt: time,
    createdBy: word,
    specHash,
    secretsVersion: count(0),
    spec: document,
    scalingPolicy: state,
    canaryState,
    revisions: Type.Array(revisionSchema, { maxItems: REVISIONS_MAX }),
    revisionsOmitted: count(0),
    checksum: Type.String({ pattern: '^[0-9a-f]{64}$', ...annotate({ 'x-expected': '64 hexadecimal digits' }) }),
  },
  { additionalProperties: false },
);

const checkShape = createBodyCheck(backupImportSchema);
const checkSpec = createBodyCheck(deploymentSchema);
const checkPolicy = createBodyCheck(scalingSchema);

/**
 * Checks `POST /api/v1/backups/import`. Its configurations are judged by their shape, and hold no credential: whether they can run
 * here is judged when one is brought back.
 */
export function checkBackupImport(sent: unknown): CheckResult<Backup> {
  const checked = checkShape(sent);
  if (!checked.ok) return checked;
  const backup = checked.value as unknown as Backup & Static<typeof backupImportSchema>;
  return toCheckFailure(listFaults(backup)) ?? { ok: true, value: backup };
}

function listFaults(backup: Backup): readonly Rejection[] {
  const root = FieldPath.root;
  const { revisions } = backup;
  if (chooseBackupRevisions(revisions).length < revisions.length) {
    return [reject('field_invalid', 'revisions', revisions.length, { wanted: backupRevisionsBound })];
  }
  const policy = backup.scalingPolicy === null ? undefined : checkPolicy(backup.scalingPolicy);
  const faults = [
    ...listSpecFaults(backup, backup.deploymentName, root),
    ...(policy?.ok === false ? policy.rejections.map(each => ({ ...each, field: `scalingPolicy.${each.field}` })) : []),
    ...revisions.flatMap((revision, position) => [
      ...listSpecFaults(revision, backup.deploymentName, root.child('revisions').index(position)),
      ...listOrderFaults(revisions, position),
    ]),
  ];
  if (faults.length > 0) return faults;
  const checksum = computeBackupChecksum(backup);
  return checksum === backup.checksum ? [] : [reject('backup_checksum_mismatch', 'checksum', backup.checksum)];
}

/** Revisions are numbered without gaps. */
function listOrderFaults(revisions: readonly ArchivedRevision[], position: number): readonly Rejection[] {
  const wanted = (revisions[position - 1]?.revision ?? 0) + 1;
  const { revision } = revisions[position]!;
  if (position === 0 || revision === wanted) return [];
  const at = FieldPath.root.child('revisions').index(position).child('revision');
  return [reject('field_invalid', at, revision, { wanted: `${wanted}, the number after the revision before it` })];
}

function listSpecFaults(
  { spec, specHash: hash, secretsVersion }: Pick<Backup, 'spec' | 'specHash' | 'secretsVersion'>,
  name: string,
  parent: FieldPath,
): readonly Rejection[] {
  const at = parent.child('spec');
  const guarded = guardPersisted({ spec });
  if (guarded) return [{ ...guarded, field: `${at.toString()}.${guarded.field}` }];
  const checked = checkSpec(spec);
  if (!checked.ok) {
    return checked.rejections.map(rejection => ({ ...rejection, field: `${at.toString()}.${rejection.field}` }));
  }
  if (spec.name !== name) return [reject('field_invalid', at.child('name'), spec.name, { wanted: name })];
  if (hashSpec(spec) !== hash || spec.secretsVersion !== secretsVersion) {
    return [reject('backup_checksum_mismatch', parent.child('specHash'), hash)];
  }
  return Object.entries(spec.environment ?? {}).flatMap(([key, value]) =>
    typeof value === 'string' && isCredential(key, value)
      ? [reject('plaintext_credential_in_environment', at.child('environment').child(key), value, { name })]
      : [],
  );
}
