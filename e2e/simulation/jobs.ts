import { isDeepStrictEqual } from 'node:util';

import { expect } from 'chai';

import { isFinished, type JobStatus, type StoredJob } from '../../crds/job/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import { value } from '../../pkg/store/index.js';
import { type SimCluster, TENANTS } from './cluster.js';
import type { History, Invariant } from './history.js';
import { CREDENTIAL } from './secrets.js';

const JOBS = '/api/v1/jobs';
/** A program ends within so long, by itself. */
const ENDS_WITHIN_MS = 4_000;

/** Users ask for a job every few seconds, until `until`, and delete some of them. */
export function useJobs(cluster: SimCluster, until: number): void {
  const { world } = cluster;
  let asked = 0;
  const next = () => {
    world.after(world.between(500, 6_000), 'a user asks for a job', () => {
      if (world.time >= until) return;
      const tenant = world.pick(TENANTS);
      const name = `job-${asked++}`;
      const document = {
        kind: 'Job',
        name,
        image: 'registry.test/job:1',
        backoffLimit: world.pick([0, 1, 3]),
        ...(world.chance(0.3) && { timeoutSeconds: 2 }),
        ...(world.chance(0.2) && { ttlSecondsAfterFinished: 5 }),
        ...(world.chance(0.2) && { secrets: [CREDENTIAL] }),
      };
      void cluster.ask({ method: 'POST', path: JOBS, tenant, op: name, document });
      const old = { name: `job-${Math.max(0, asked - 3)}` };
      if (world.chance(0.3)) void cluster.ask({ method: 'DELETE', path: `${JOBS}/{name}`, tenant, params: old });
      next();
    });
  };
  next();
}

const NO_EXITS: ReadonlySet<number> = new Set();

/** What has become of the containers of attempts, as the engines themselves show it. */
export class AttemptWatch {
  readonly #starts = new Map<string, Set<string>>();
  readonly #exits = new Map<string, Set<number>>();
  #turns = 0;

  /** Has the programs of jobs end by themselves, for as long as there is one. */
  endPrograms(cluster: SimCluster): void {
    const { world, machines } = cluster;
    world.after(world.between(200, ENDS_WITHIN_MS), 'programs end', () => {
      for (const { engine } of machines) {
        const running = engine.containers.filter(each => isAttempt(each.owner) && each.state === 'running');
        for (const { id } of running) if (world.chance(0.7)) engine.crash(id, world.pick([0, 0, 1, 3]));
      }
      this.endPrograms(cluster);
    });
  }

  /** Throws when an attempt was started twice, on whatever machine. */
  look({ machines }: SimCluster): void {
    let turns = 0;
    for (const { engine } of machines) turns += engine.startsAndEnds;
    if (turns === this.#turns) return;
    this.#turns = turns;
    for (const { engine } of machines) {
      for (const { id, owner, startedAt, exitCode } of engine.containers) {
        if (!isAttempt(owner)) continue;
        if (startedAt !== undefined) note(this.#starts, owner.replica, `${id} ${startedAt}`);
        if (exitCode !== undefined) note(this.#exits, owner.replica, exitCode);
        const starts = this.#starts.get(owner.replica)?.size ?? 0;
        if (starts > 1) throw new Error(`attempt ${owner.replica} was started ${starts} times`);
      }
    }
  }

  /** An attempt has one uid for ever, one end for ever, and its exit code is the one that its container had. */
  readonly keepsEnds: Invariant = changes => {
    for (const { key, before, entry } of changes) {
      if (!entry || !key.startsWith(ranges.jobStatuses)) continue;
      const is = value<JobStatus>(entry);
      const was = before && value<JobStatus>(before);
      const known = was?.uid === is.uid ? was : undefined;
      const more = is.attempts - (known?.attempts ?? 0);
      if (more < 0 || more > 1)
        throw new Error(`attempts of ${key} went from ${known?.attempts ?? 0} to ${is.attempts}`);
      for (const attempt of is.history) {
        const earlier = known?.history.find(each => each.attempt === attempt.attempt);
        if (earlier && attempt.uid !== earlier.uid)
          throw new Error(`attempt ${attempt.attempt} of ${key} was made twice`);
        if (attempt.state === 'Pending' || attempt.state === 'Running') continue;
        if (earlier?.storedAt && !isDeepStrictEqual(attempt, earlier))
          expect(attempt, 'an end was changed').to.deep.equal(earlier);
        const seen = this.#exits.get(attempt.uid) ?? NO_EXITS;
        if (attempt.exitCode !== undefined && !seen.has(attempt.exitCode))
          throw new Error(
            `attempt ${attempt.uid} ended with ${attempt.exitCode}, its container with ${[...seen].join()}`,
          );
        if (attempt.exitCode === undefined && attempt.reason === 'container_lost' && seen.size > 0)
          throw new Error(`attempt ${attempt.uid}: an exit code was lost (${[...seen].join()})`);
      }
    }
  };
}

/** No attempt is made while a record of an earlier one of its job is left. */
export const makesOneAttempt: Invariant = (changes, history) => {
  for (const { key, before, entry } of changes) {
    if (!entry || before || !key.startsWith(ranges.replicas) || !value<Replica>(entry).once) continue;
    const { tenant, deployment } = value<Replica>(entry);
    expect(history.entries(ranges.replicasOf(tenant, deployment)).length, `attempts of ${deployment} at once`).to.equal(
      1,
    );
  }
};

/** Throws unless every job has come to its end, and nothing of its attempts is left; without nodes it waits. */
export function expectJobsEnded(history: History): void {
  for (const { name, metadata } of history.all<StoredJob>(ranges.jobs)) {
    const { tenant, uid, deletedAt } = metadata;
    expect(deletedAt, `${name} is to be deleted`).to.equal(undefined);
    if (history.all<StoredNode>(ranges.of(ranges.nodes, tenant)).length === 0) continue;
    const status = history.get<JobStatus>(keys.jobStatus(tenant, name));
    expect(status?.uid === uid && isFinished(status), `${name} has ended: ${status?.message}`).to.equal(true);
  }
  const jobs = new Set(history.entries(ranges.jobs).map(({ key }) => splitKey(key).join('/')));
  for (const { key } of history.entries(ranges.jobStatuses)) {
    expect(jobs.has(splitKey(key).join('/')), `${key} was left`).to.equal(true);
  }
}

function isAttempt({ deployment }: { readonly deployment: string }): boolean {
  return parseJobOwner(deployment) !== undefined;
}

function note<T>(map: Map<string, Set<T>>, key: string, item: T): void {
  const known = map.get(key);
  if (known) known.add(item);
  else map.set(key, new Set([item]));
}
