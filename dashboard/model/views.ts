import type { NetworkStatus } from '../../crds/network/network.js';
import type { Role, StoredTenant } from '../../crds/tenant/index.js';
import type { CandidateView } from '../../crds/scheduling/index.js';
import type { DeploymentView } from '../../crds/deployment/index.js';
import type { EventView } from '../../crds/event/index.js';
import type { JobView } from '../../crds/job/index.js';
import type { NodeView } from '../../crds/node/index.js';

/** A network as the server shows it. */
export interface ShownNetwork {
  readonly name: string;
  readonly status?: Omit<NetworkStatus, 'uid' | 'announced'> | null;
}

/** `GET /api/v1/deployments/{name}/secrets/rotation`, as far as it is shown. */
export interface ShownRotationPhase {
  readonly secret: string;
  readonly phase: string;
  readonly holds: boolean;
  readonly next: string;
  readonly waitsFor: string | null;
  readonly isAborting: boolean;
}

/** `GET /api/v1/secrets`: a credential with who uses it and the rotation that is under way. No answer of the API has a value. */
export interface ListedSecret {
  readonly path: string;
  readonly version: number | null;
  readonly deployments: readonly string[];
  readonly jobs?: readonly string[];
  readonly rotation?: ShownRotationPhase & { readonly deployment: string; readonly since: string };
}

export type { CandidateView, DeploymentView, EventView, JobView, NodeView, StoredTenant as TenantView };

/** The token that a person has signed in with, as `GET /api/v1/tokens/self` shows it. */
export interface SignedIn {
  readonly id: string;
  readonly kind: 'tenant' | 'admin';
  readonly tenant?: string;
  readonly role?: Role;
  readonly description: string;
  readonly expiresAt: string;
}

/** `GET /api/v1/deployments/{name}/explain`, as far as the grid shows it. */
export interface PlacementView {
  readonly filters: readonly string[];
  readonly able: number;
  readonly summary: string;
  readonly outlook: string;
  readonly candidates: readonly CandidateView[];
}

/** How loud something is shown. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';
