import type { Agent, Engine } from '../../pkg/agent/index.js';
import type { AgentLink } from '../../pkg/link/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import type { Reconnecting } from '../../dev/simulation/index.js';
import type { Cache, Store } from '../../pkg/store/index.js';
import type { MixName } from './mix.js';

/** Everything that an agent works with. */
export type AgentParts = ConstructorParameters<typeof Agent>[0];

/** How many times more often than usual things happen: what is seldom noticed is noticed soon then. Default: once. */
export interface Pace {
  /** Machines change hands. */
  readonly machines?: number;
  /** Networks come, go and are removed by hand. */
  readonly networks?: number;
  /** Operators give orders. */
  readonly orders?: number;
  /** Volumes are asked for, where there are any. */
  readonly volumes?: number;
  /** What happens at every seed: else it is one seed's turn after another. */
  readonly mix?: MixName;
  /** A backup is restored: else at every fifth seed. */
  readonly restores?: number;
}

/** What may be put in the place of the product's own parts, to see that it is found out. */
export interface Variant {
  readonly pace?: Pace;
  /** The loops of one controllers process, which reaches the store as given. */
  readonly loops?: (loops: readonly Loop[], store: Store) => readonly Loop[];
  readonly loopSecrets?: (secrets: SecretStore) => SecretStore;
  readonly reconnecting?: Reconnecting;
  readonly apiStore?: (store: Store) => Store;
  readonly apiCache?: (cache: Cache) => Cache;
  readonly apiSecrets?: (secrets: SecretStore) => SecretStore;
  readonly link?: (link: AgentLink) => AgentLink;
  readonly agent?: (parts: AgentParts) => AgentParts;
  readonly engine?: (engine: Engine, cluster: { readonly server: Store }) => Engine;
}
