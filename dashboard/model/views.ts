import type { Role } from '../../crds/tenant/index.js';
import type { CandidateView, DeploymentView, EventView, NodeView, TenantView } from '../../pkg/cli/views.js';

export type { CandidateView, DeploymentView, EventView, NodeView, TenantView };

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
