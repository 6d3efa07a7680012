import type { PlacementSpec, ResourceRequests, SecretReference, VolumeMount } from '../workload/index.js';

/** Work that ends, after admission. */
export interface Job {
  readonly kind: 'Job';
  readonly name: string;
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** Always the id. */
  readonly nodeId?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly SecretReference[];
  readonly composedSecrets?: Readonly<Record<string, string>>;
  readonly volumes?: readonly VolumeMount[];
  /** Names of networks to join in the place of the tenant's own. */
  readonly networks?: readonly string[];
  readonly resources?: ResourceRequests;
  readonly placement?: PlacementSpec;
  /** How often it is tried again after a failure. */
  readonly backoffLimit: number;
  /** How long one attempt may take; for ever when absent. */
  readonly timeoutSeconds?: number;
  /** How long a finished job is kept; for ever when absent. */
  readonly ttlSecondsAfterFinished?: number;
}
