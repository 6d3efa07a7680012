import type { DeploymentFacts, DeploymentLimits } from '../../crds/deployment/index.js';
import type { PlacementPolicy, TenantUsage } from '../../pkg/fleet/index.js';
import type { ImageFacts } from '../../pkg/registry/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import type { Cache } from '../../pkg/store/index.js';
import type { WriteEnv } from '../write/write.js';

/** Where workloads may be placed. */
export interface PlacementEnv {
  readonly cache: Cache;
  readonly placementPolicy: PlacementPolicy;
}

/** The quotas of the tenants, and how much of them is used. */
export interface QuotaEnv extends PlacementEnv {
  readonly usage: TenantUsage;
}

/** Everything that a workload is judged by and written with. */
export interface AdmissionEnv extends WriteEnv, QuotaEnv {
  readonly secrets: SecretStore;
  /** Asks registries whether they have an image. Without it images are not checked. */
  readonly images?: ImageFacts;
  readonly deploymentLimits: DeploymentLimits;
  /** The facts that do not change while the server runs. */
  readonly staticFacts: DeploymentFacts;
}
