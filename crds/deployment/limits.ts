import type { WorkloadContext, WorkloadFacts, WorkloadLimits } from '../workload/index.js';

/** The limits that rules measure against. Set by configuration, never by a tenant. */
export interface DeploymentLimits extends WorkloadLimits {
  readonly maxReplicas: number;
  readonly retriesFloor: number;
  readonly timeoutFloor: string;
  /**
   * The fields that this control plane carries out from end to end. Any other is refused as unknown: what is stored and
   * then not done would be worse.
   */
  readonly supportedFields: ReadonlySet<string>;
}

/** What the API has looked up before the rules are asked. */
export type DeploymentFacts = WorkloadFacts;

/** All that the rules of a deployment may look at, beside the field itself. */
export interface DeploymentContext extends WorkloadContext {
  readonly kind: 'Deployment';
  readonly limits: DeploymentLimits;
}
