import {
  getWantedReplicas,
  type ScalingRecord,
  type StoredDeployment,
  type StoredScalingPolicy,
} from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { value } from '../../pkg/store/index.js';
import type { History, StoreChange } from './history.js';

/** What a loop decides on may be as old as this: a report is no guard, nor is what load has made of a number. */
export const LATELY_MS = 25_000;

/** A document that is not any more, and until when it was. */
interface FormerDocument {
  readonly document: unknown;
  readonly until: number;
}

/** How many replicas deployments are to have, and were to have lately where load moves the number. */
export class WantedCounts {
  readonly #clock: { readonly time: number };
  readonly #former = new Map<string, FormerDocument[]>();

  constructor(clock: { readonly time: number }) {
    this.#clock = clock;
  }

  note(changes: readonly StoreChange[]): void {
    for (const { key, before } of changes) {
      if (!key.startsWith(ranges.scalings) && !key.startsWith(ranges.scalingPolicies)) continue;
      const document = before && value<unknown>(before);
      this.#former.set(key, [...(this.#former.get(key) ?? []), { document, until: this.#clock.time }]);
    }
  }

  /**
   * The deployment with every number of replicas that a loop may take for the wanted one now. Its spec is a guard of whatever is
   * decided, so that number is the present one.
   */
  listLately(deployment: StoredDeployment, history: History): readonly StoredDeployment[] {
    const { name, metadata } = deployment;
    const policies = this.#list<StoredScalingPolicy>(keys.scalingPolicy(metadata.tenant, name), history);
    const records = this.#list<ScalingRecord>(keys.scaling(metadata.tenant, name), history);
    const counts = policies.flatMap(policy => records.map(record => getWantedReplicas(deployment, policy, record)));
    return [...new Set(counts)].map(replicas =>
      replicas === deployment.replicas ? deployment : { ...deployment, replicas },
    );
  }

  #list<T>(key: string, history: History): readonly (T | undefined)[] {
    const former = (this.#former.get(key) ?? []).filter(({ until }) => this.#clock.time - until < LATELY_MS);
    return [history.get<T>(key), ...former.map(({ document }) => document as T | undefined)];
  }
}
