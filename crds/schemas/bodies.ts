import { type TObject, Type } from 'typebox';

import { environmentRequestSchema } from '../delivery/index.js';
import { deploymentSchema } from '../deployment/index.js';
import { jobSchema } from '../job/index.js';
import { networkSchema } from '../network/index.js';
import { enrolmentSchema, heartbeatSchema, joinTokenRequestSchema, renewalSchema } from '../node/index.js';
import { recommendationApplySchema } from '../recommendation/index.js';
import { reportBatchSchema } from '../report/index.js';
import { rotationSchema } from '../rotation/index.js';
import { secretWriteSchema } from '../secret/index.js';
import { quotaRequestSchema, tenantRequestSchema, tokenRequestSchema } from '../tenant/index.js';
import { volumeReplicaSchema, volumeSchema } from '../volume/index.js';

/** A change of an object: every field may be left out, and `null` takes one away. */
function changeOf(schema: TObject): TObject {
  const fields = Object.entries(schema.properties).map(([name, field]) => [
    name,
    Type.Optional(Type.Unsafe<unknown>({ anyOf: [field, { type: 'null' }] })),
  ]);
  return Type.Object(Object.fromEntries(fields), { additionalProperties: false });
}

/** Every body that a client sends, by the name of its component. The same schemas are what bodies are checked with. */
export const bodies = {
  Deployment: deploymentSchema,
  DeploymentChange: changeOf(deploymentSchema),
  Job: jobSchema,
  Network: networkSchema,
  Volume: volumeSchema,
  VolumeReplicaRequest: volumeReplicaSchema,
  SecretWrite: secretWriteSchema,
  RotationRequest: rotationSchema,
  RecommendationApply: recommendationApplySchema,
  TenantRequest: tenantRequestSchema,
  QuotaRequest: quotaRequestSchema,
  TokenRequest: tokenRequestSchema,
  JoinTokenRequest: joinTokenRequestSchema,
  Enrolment: enrolmentSchema,
  Heartbeat: heartbeatSchema,
  Renewal: renewalSchema,
  ReportBatch: reportBatchSchema,
  EnvironmentRequest: environmentRequestSchema,
} as const;

/** The name of a body's component. */
export type BodyName = keyof typeof bodies;
