import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { toCredentialPath, toSecretDocument } from '../../pkg/secrets/index.js';
import { type Store, WatchCache } from '../../pkg/store/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

export const PATH = 'deployments/web-db';
export const PHASES = ['stage', 'promote', 'verify', 'retire'] as const;
export const path = toCredentialPath(TENANT, PATH);

/** How many more changes a process makes before it dies, and whether the last of them is made without an answer. */
export interface Life {
  left: number;
  readonly isLastMade: boolean;
}

/** The store as a process sees it that dies: from one change on, nothing is ever answered. */
export function createMortalStore(store: Store, life: Life, onDeath: () => void = () => undefined): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        if (name === 'commit') life.left--;
        const isDead = life.left < 0;
        if (isDead) onDeath();
        const isMade = !isDead || (name === 'commit' && life.left === -1 && life.isLastMade);
        const answer: unknown = isMade ? member.apply(target, given) : undefined;
        return isDead ? new Promise(() => undefined) : answer;
      };
    },
  });
}

/** Two deployments that share a credential, a client that requests phases, and an observer. */
export class RotationCluster extends TestCluster {
  /** Running containers with a version that was gone. */
  readonly violations: string[] = [];
  readonly #end = new AbortController();

  async begin(): Promise<void> {
    await this.enrol('n1');
    await this.secrets.write(path, {
      document: toSecretDocument({ user: 'u', password: 'p' }),
      after: 0,
      as: 'current',
    });
    const secrets = [{ name: 'DB', vault_path: PATH, anchor: 'process', rotation: 'restart' }] as const;
    await this.put(keys.deployment(TENANT, 'web'), makeDeployment({ secrets }));
    const worker = { metadata: makeMetadata('dep_2'), name: 'worker', replicas: 1, secrets };
    await this.put(keys.deployment(TENANT, 'worker'), makeDeployment(worker));
    const cache = new WatchCache({ store: this.store, clock: this.clock, log: silentLogger });
    cache.subscribe(({ key }) => void (key.startsWith(ranges.secrets) && this.#lookAround()));
    void cache.run(this.#end.signal);
    await this.clock.pass(20_000);
  }

  async ask(phase: RotationRecord['phase'], material: RotationRecord['material'] = { by: 'platform' }): Promise<void> {
    const key = keys.rotation(TENANT, 'web-db');
    const askedAt = new Date(this.clock.now()).toISOString();
    const before = await this.get<RotationRecord>(key);
    const fresh = {
      id: 'rot_1',
      path: PATH,
      from: 1,
      to: 2,
      material,
      deployment: 'web',
      by: 'me',
    };
    await this.put(key, { ...fresh, ...before, phase, askedAt });
  }

  /** As the API deletes a deployment: with a mark. */
  async remove(name: string): Promise<void> {
    const key = keys.deployment(TENANT, name);
    const stored = await this.get<StoredDeployment>(key);
    const deletedAt = new Date(this.clock.now()).toISOString();
    await this.put(key, { ...stored, metadata: { ...stored!.metadata, deletedAt } });
  }

  progress(): Promise<RotationProgress | undefined> {
    return this.get(keys.rotationProgress(TENANT, 'web-db'));
  }

  /** Asks for a phase and waits until it holds. `meanwhile` is told of every second. */
  async reach(phase: RotationRecord['phase'], meanwhile: () => void = () => undefined): Promise<void> {
    await this.ask(phase);
    for (let second = 0; second < 180; second++) {
      const progress = await this.progress();
      if (progress?.phase === phase && progress.holds) return;
      await this.clock.pass(1_000);
      meanwhile();
    }
    throw new Error(`${phase} does not hold: ${JSON.stringify(await this.progress())}`);
  }

  async state() {
    const reading = await this.secrets.state(path);
    return reading.kind === 'found' ? reading.state : undefined;
  }

  async versions(): Promise<readonly string[]> {
    const replicas = await this.all<Replica>(ranges.replicas);
    return replicas.map(({ template, resolved }) => `${template.secretsVersion}:${resolved?.versions[PATH]}`);
  }

  /** The secretsVersion of each deployment, with how often a rotation has changed it. */
  async raised(): Promise<readonly string[]> {
    const archives = await this.all<{ readonly change: string; readonly spec: { readonly name: string } }>(
      ranges.archives,
    );
    const deployments = await this.all<StoredDeployment>(ranges.deployments);
    return deployments.map(({ name, secretsVersion }) => {
      const rotations = archives.filter(({ change, spec }) => change === 'rotate' && spec.name === name);
      return `${name} ${secretsVersion} ${rotations.length}`;
    });
  }

  override close(): void {
    this.#end.abort();
    super.close();
  }

  async #lookAround(): Promise<void> {
    const { current, pending, previous } = (await this.state()) ?? {};
    const replicas = new Map((await this.all<Replica>(ranges.replicas)).map(replica => [replica.uid, replica]));
    for (const { replica, state } of await this.all<Report>(ranges.reports)) {
      const version = replicas.get(replica)?.resolved?.versions[PATH];
      if (state !== 'running' || version === undefined || [current, pending, previous].includes(version)) continue;
      this.violations.push(`a container has version ${version}, which is gone`);
    }
  }
}
