import { expect } from 'chai';

import {
  type DeploymentStatus,
  getCanaryHold,
  getCanarySize,
  getRolloutBounds,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { isUpToDate, type Replica } from '../../crds/replica/index.js';
import { computeContentHash, findHeldCanary, isOfPresent, type RolloutRecord } from '../../crds/rollout/index.js';
import { value } from '../../pkg/store/index.js';
import { keepsAvailable } from './availability.js';
import type { Invariant } from './history.js';
import { findUpDeployment, listStaying, ReadyReplicas } from './readiness.js';
import { WantedCounts } from './wanted.js';

/** A drain may add one replica to those of a rollout. */
const DRAIN_SURPLUS = 1;

/** What no transaction may break while something is rolled out. */
export function createRolloutInvariants(clock: { readonly time: number }): readonly Invariant[] {
  const readiness = new ReadyReplicas(clock);
  const wanted = new WantedCounts(clock);
  const healthySince = new Map<string, number>();
  return [
    changes => readiness.note(changes),
    changes => wanted.note(changes),
    keepsAvailable(readiness, wanted),
    keepsSurge(wanted),
    claimsNothing(readiness, wanted),
    keepsCanarySmall(readiness, wanted),
    keepsHold(clock, healthySince),
  ];
}

/** No replica is created beyond what the rollout of its deployment allows: the wanted number, the surge, and one for a drain. */
const keepsSurge =
  (wanted: WantedCounts): Invariant =>
  (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!key.startsWith(ranges.replicas) || before || !entry) continue;
      const { tenant, deployment: name } = value<Replica>(entry);
      const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name));
      if (!deployment) continue;
      const forms = wanted.listLately(deployment, history);
      const most = Math.max(...forms.map(form => form.replicas + getRolloutBounds(form).surge)) + DRAIN_SURPLUS;
      const all = history.entries(ranges.replicasOf(tenant, name)).length;
      expect(all, `replicas of ${name} at once`).to.be.at.most(most);
    }
  };

/** `Running` is claimed only while every wanted replica is of the present template and ready. */
const claimsNothing =
  (readiness: ReadyReplicas, wanted: WantedCounts): Invariant =>
  (changes, history) => {
    for (const { key, entry } of changes) {
      if (!entry || !key.startsWith(ranges.statuses)) continue;
      const status = value<DeploymentStatus>(entry);
      const [tenant = '', name = ''] = splitKey(key);
      const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name));
      const { uid, generation } = deployment?.metadata ?? {};
      if (!deployment || status.uid !== uid || status.observedGeneration !== generation) continue;
      if (status.phase !== 'Running') continue;
      const ready = readiness.listLately(deployment, history).filter(each => isUpToDate(each, deployment));
      const least = Math.min(...wanted.listLately(deployment, history).map(({ replicas }) => replicas));
      expect(ready.length, `ready replicas of ${name}, which is claimed to run`).to.be.at.least(least);
    }
  };

/** No replica of a new template is made past its canary, nor more of them than it may have. */
const keepsCanarySmall =
  (readiness: ReadyReplicas, wanted: WantedCounts): Invariant =>
  (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!key.startsWith(ranges.replicas) || before || !entry) continue;
      const replica = value<Replica>(entry);
      const deployment = findUpDeployment(replica, history);
      if (!deployment?.rollout?.canary || !isUpToDate(replica, deployment)) continue;
      const { tenant, uid } = deployment.metadata;
      const record = history.get<RolloutRecord>(keys.rollout(tenant, deployment.name));
      if (record?.uid !== uid || !record.completed) continue;
      // What was on a node that is gone is replaced before or after its record is cleared.
      const nodes = history.all<StoredNode>(ranges.of(ranges.nodes, tenant)).map(({ id }) => id);
      const staying = listStaying(deployment, history).filter(
        ({ nodeId }) => nodeId === undefined || nodes.includes(nodeId),
      );
      const canary = findHeldCanary(deployment, record);
      const next = staying.filter(each => isOfPresent(each, deployment, canary?.baseline)).length;
      if (canary) {
        const sizes = wanted.listLately(deployment, history).map(form => getCanarySize(form).next);
        const most = Math.max(...sizes) + readiness.countDrainSurplus(tenant);
        expect(next, `replicas of the canary of ${deployment.name}`).to.be.at.most(most);
        continue;
      }
      const content = computeContentHash(deployment);
      const isKnown = record.completed.contentHash === content || record.canary?.contentHash === content;
      const isAlone = next === staying.length || deployment.rollout.paused === true;
      expect(isKnown || isAlone, `${deployment.name} is rolled out past its canary`).to.equal(true);
    }
  };

/** A canary is promoted by an order, or when it was healthy for its hold. */
const keepsHold =
  (clock: { readonly time: number }, healthySince: Map<string, number>): Invariant =>
  (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!key.startsWith(ranges.rollouts) || !before || !entry) continue;
      const was = value<RolloutRecord>(before).canary;
      const { canary: is, uid } = value<RolloutRecord>(entry);
      const about = `${uid} ${is?.startedAt}`;
      if (!is?.healthy) healthySince.delete(about);
      else if (!was?.healthy || was.startedAt !== is.startedAt) healthySince.set(about, clock.time);
      const [tenant = '', name = ''] = splitKey(key);
      const isOrdered = changes.some(change => change.key === keys.canaryOrder(tenant, name) && !change.entry);
      if (!is?.promotedAt || was?.promotedAt || isOrdered) continue;
      const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name))!;
      const since = healthySince.get(about);
      const held = since === undefined ? Infinity : clock.time - since + 100;
      expect(held, `ms that the canary of ${name} was held`).to.be.at.least(getCanaryHold(deployment) ?? Infinity);
    }
  };
