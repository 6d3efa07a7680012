import type { Regions } from '../residency/index.js';
import type { WellFormedDocument } from '../rule/index.js';
import type { SecretLimits } from '../secret/index.js';
import type { KnownVolume } from '../volume/index.js';

/** A node of the tenant. */
export interface KnownNode {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether its agent sends heartbeats. */
  readonly reachable: boolean;
}

/** A network of the tenant. */
export interface KnownNetwork {
  readonly name: string;
  readonly nodeId: string;
  readonly internal: boolean;
}

/** Another deployment of the tenant, as far as rules look at it. */
export interface KnownDeployment {
  readonly name: string;
  readonly dependsOn: readonly { readonly name: string; readonly condition: 'healthy' | 'started' }[];
  readonly hasHealthCheck: boolean;
  /** Every `vault_path` it refers to. */
  readonly secretPaths: readonly string[];
  /** Those of them whose material is managed elsewhere. */
  readonly externalPaths: readonly string[];
}

/** What is known of the image: whether the registry holds it, or why that is not known. */
export type KnownImage =
  | 'present'
  | 'absent'
  | 'unreachable'
  /** The registry requires a login, and the tenant has none for it. */
  | 'login_required'
  /** The registry refuses the login of the tenant. */
  | 'credential_refused'
  /** The platform's policy forbids to contact its registry. */
  | 'refused'
  | 'credential_store_unavailable'
  | 'unchecked';

/** What the API has looked up before the rules are asked. */
export interface WorkloadFacts {
  /** The nodes the tenant has enrolled, or that they could not be read. */
  readonly nodes: 'unreadable' | readonly KnownNode[];
  /** The tenant's volumes; at least those that the document mounts. */
  readonly volumes: readonly KnownVolume[];
  readonly volumeManagement: 'on' | 'off';
  /** The tenant's networks. */
  readonly networks: readonly KnownNetwork[];
  readonly regions: Regions;
  /** The tenant's deployments. */
  readonly deployments: readonly KnownDeployment[];
  readonly image: KnownImage;
  readonly secretsPolicy: { readonly namespaces: readonly string[] };
  /** Names of the keys of each credential that exists, by path; at least of those that the document refers to. */
  readonly secretKeys: Readonly<Record<string, readonly string[]>>;
  /** Labels of the credentials that are being rotated; at least of those that the document or the stored workload refers to. */
  readonly rotating: readonly string[];
}

/** The platform's defaults for containers. */
export interface ContainerDefaults {
  /** Limit of CPU, such as `500m`. */
  readonly cpu?: string;
  /** Limit of memory, such as `512Mi`. */
  readonly memory?: string;
  /** Limit of memory where memory is requested, in percent of the request. */
  readonly memoryPercent?: number;
  readonly user?: string;
  readonly readOnlyRootFilesystem?: boolean;
}

/** The limits that rules of every workload measure against. Set by configuration, never by a tenant. */
export interface WorkloadLimits {
  /** What containers get whose deployment does not say. */
  readonly containerDefaults?: ContainerDefaults;
  readonly reservedNames: readonly string[];
  readonly secrets: SecretLimits;
}

/** All that the rules of a workload may look at, beside the field itself. */
export interface WorkloadContext extends WellFormedDocument {
  readonly kind: 'Deployment' | 'Job';
  readonly facts: WorkloadFacts;
  readonly limits: WorkloadLimits;
  /** The workload's name as sent or stored, for messages and to distinguish it from others. */
  readonly name: string;
  /** The document carries the metadata of a stored object: a client sends back what it has read. */
  readonly isSentBack?: boolean | undefined;
  /** What is stored, when this is an update. */
  readonly stored?: ({ readonly name: string } & Readonly<Record<string, unknown>>) | undefined;
}

/** Facts of an empty tenant: no nodes, no volumes, no other deployments, and an image that was not looked up. */
export const emptyFacts: WorkloadFacts = {
  nodes: [],
  volumes: [],
  volumeManagement: 'on',
  networks: [],
  regions: { enforced: false, declared: [] },
  deployments: [],
  image: 'unchecked',
  secretsPolicy: { namespaces: [] },
  secretKeys: {},
  rotating: [],
};
