/** The limits that rules measure against. Set by configuration, never by a tenant. */
export interface DeploymentLimits {
  readonly maxReplicas: number;
  readonly retriesFloor: number;
  readonly timeoutFloor: string;
  readonly reservedNames: readonly string[];
}

/** What the API has looked up before the rules are asked. */
export interface DeploymentFacts {
  /** The nodes the tenant has enrolled, or that they could not be read. */
  readonly nodes: 'unreadable' | readonly { readonly id: string; readonly name: string }[];
}

/** All that the rules of a deployment may look at, beside the field itself. */
export interface Context {
  readonly facts: DeploymentFacts;
  readonly limits: DeploymentLimits;
  /** The deployment's name as sent or stored, for wording. */
  readonly name: string;
  /** What is stored, when this is an update. */
  readonly stored?: { readonly name: string };
}
