import { ApiLab } from '../../api/api-lab.testing.js';
import { AT, makeDeployment, makeMetadata, TENANT, TestCluster } from '../../controllers/test-cluster.testing.js';
import { type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import type { StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodePresence } from '../../crds/node/index.js';
import { formatJobOwner, type Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { computeContentHash, type CanaryOrder } from '../../crds/rollout/index.js';
import type { RotationRecord } from '../../crds/rotation/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { createTestTerminal } from '../../pkg/terminal/terminal.testing.js';
import { run } from '../../pkg/cli/run.js';
import { buildRevision } from '../../pkg/history/index.js';
import { toCredentialPath, toSecretDocument } from '../../pkg/secrets/index.js';
import { type Act, JOB, jobSpecs, LABEL, NODES, quotaChoices, reports, rolls, SECRET_PATH, specs } from './acts.js';
import type { ExplanationView, DeploymentSurfaces } from './contradictions.js';
import type { JobExplanation, JobSurfaces } from './job-contradictions.js';

/** The loops, an API server and the command line over one store in memory. */
export class AgreementCluster {
  readonly cluster = new TestCluster();
  readonly #lab: ApiLab;
  readonly #stop: AbortController;
  readonly #leases = new Map<string, string>();
  #token = '';
  #generation = 0;

  constructor() {
    this.#lab = new ApiLab({ store: this.cluster.store });
    this.#stop = this.cluster.controllers('a');
    this.cluster.healthOf = ({ template }) => {
      if (template.image.startsWith('bad:')) return 'unhealthy';
      return template.healthCheck ? 'healthy' : undefined;
    };
  }

  async start(): Promise<this> {
    await this.#lab.start();
    await this.#lab.tenant(TENANT);
    await this.cluster.secrets.write(toCredentialPath(TENANT, SECRET_PATH), {
      document: toSecretDocument({ user: 'u' }),
      after: 0,
      as: 'current',
    });
    this.#token = await this.#lab.tenantToken(TENANT, 'viewer');
    return this;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.cluster.close();
    await this.#lab.stop();
  }

  async perform(each: Act): Promise<void> {
    const { cluster } = this;
    if ('node' in each) {
      const named = NODES[each.node]!;
      const lease = this.#leases.get(named);
      if (each.kind === 'enrol' && !lease) {
        this.#leases.set(named, await cluster.enrol(named, { 'mooring.io/country': each.node === 0 ? 'DE' : 'FR' }));
      }
      if (each.kind === 'lose' && lease) await cluster.store.revoke(lease);
      if (each.kind === 'drain' && lease) await cluster.order(named, { drain: { by: 'x', since: AT } });
      if (each.kind === 'engine_away' || each.kind === 'engine_back') {
        await this.#setEngine(named, each.kind === 'engine_back');
      }
      if (each.kind === 'forget' && lease) {
        await cluster.store.revoke(lease);
        await cluster.erase(keys.node(TENANT, named));
        this.#leases.delete(named);
      }
      return;
    }
    if (each.kind === 'agents') {
      cluster.agentsWork = each.work;
      return;
    }
    if (each.kind === 'quota') {
      const tenant = await cluster.get<StoredTenant>(keys.tenant(TENANT));
      return cluster.put(keys.tenant(TENANT), { ...tenant, quotas: quotaChoices[each.choice] });
    }
    if (each.kind === 'rotate') return this.#rotate(each.phase);
    if (each.kind === 'order') return this.#order(each.name, each.action);
    if (each.kind === 'job') return this.#createJob(jobSpecs[each.choice]!);
    if (each.kind === 'job_ends') return this.#endJob(each.exitCode);
    if (each.kind === 'job_deleted') return this.#deleteJob();
    if (each.kind === 'report') return this.#report(each.name, reports[each.choice]!);
    if (each.kind === 'delete') return this.#delete(each.name);
    if (each.kind === 'put') return this.#put(each.name, specs[each.choice]!);
    const [before, after] = rolls[each.choice]!;
    await this.#put(each.name, before);
    await cluster.clock.pass(30_000);
    await this.#put(each.name, after);
  }

  async #put(name: string, { dependsOn, ...spec }: Partial<StoredDeployment>): Promise<void> {
    const stored = await this.#next(name);
    if (!stored) return;
    const { metadata, isNew } = stored;
    const depends = name === 'web' && dependsOn;
    const asked = makeDeployment({ ...spec, ...(depends && { dependsOn }), name });
    const { puts } = buildRevision(toSpec(asked), specHash => ({ ...metadata, specHash }), {
      change: isNew ? 'create' : 'update',
      by: 'tok',
      operation: `op-${metadata.generation}`,
      alterations: [],
    });
    for (const put of puts) await this.cluster.put(put.key, JSON.parse(put.bytes.toString()));
  }

  async #delete(name: string): Promise<void> {
    const stored = await this.#next(name);
    if (!stored || stored.isNew) return;
    const { metadata, deployment } = stored;
    const key = keys.deployment(TENANT, name);
    await this.cluster.put(key, { ...deployment, metadata: { ...metadata, deletedAt: metadata.updatedAt } });
  }

  /** The deployment and the metadata of its next revision. Undefined while it is being deleted. */
  async #next(name: string) {
    const deployment = await this.cluster.get<StoredDeployment>(keys.deployment(TENANT, name));
    if (deployment?.metadata.deletedAt !== undefined) return undefined;
    // A rollback is a revision of the loops' own.
    const generation = Math.max(this.#generation, deployment?.metadata.generation ?? 0) + 1;
    this.#generation = generation;
    const uid = deployment?.metadata.uid ?? `dep_${name}_${generation}`;
    return {
      deployment,
      isNew: deployment === undefined,
      metadata: { ...makeMetadata(uid), generation, updatedAt: this.#now() },
    };
  }

  #now(): string {
    return new Date(this.cluster.clock.now()).toISOString();
  }

  /** As the API stores an order: only while a canary is held. */
  async #order(name: string, action: CanaryOrder['action']): Promise<void> {
    const deployment = await this.cluster.get<StoredDeployment>(keys.deployment(TENANT, name));
    const status = await this.cluster.status(name);
    if (!deployment || status?.canary === undefined) return;
    const contentHash = computeContentHash(deployment);
    const order: CanaryOrder = { uid: deployment.metadata.uid, contentHash, action, by: 'tok', at: this.#now() };
    await this.cluster.put(keys.canaryOrder(TENANT, name), order);
  }

  async #createJob(change: Partial<StoredJob>): Promise<void> {
    if (await this.cluster.get(keys.job(TENANT, JOB))) return;
    this.#generation += 1;
    const metadata = makeMetadata(`job_${this.#generation}`);
    const job: StoredJob = { metadata, kind: 'Job', name: JOB, image: 'batch:1', backoffLimit: 0, ...change };
    await this.cluster.put(keys.job(TENANT, JOB), job);
  }

  async #endJob(exitCode: number): Promise<void> {
    const at = this.#now();
    const end: Partial<Report> = { state: 'exited', reason: 'container_exited', exitCode, lastEnd: { exitCode, at } };
    await this.#report(formatJobOwner(JOB), end);
  }

  async #deleteJob(): Promise<void> {
    const stored = await this.cluster.get<StoredJob>(keys.job(TENANT, JOB));
    if (!stored || stored.metadata.deletedAt !== undefined) return;
    const metadata = { ...stored.metadata, deletedAt: this.#now() };
    await this.cluster.put(keys.job(TENANT, JOB), { ...stored, metadata });
  }

  /** As the heartbeats of the agent say it. */
  async #setEngine(named: string, isBack: boolean): Promise<void> {
    const key = keys.alive(TENANT, named);
    const presence = await this.cluster.get<NodePresence>(key);
    if (!presence) return;
    const { unobservedSince: _, ...rest } = presence;
    const at = new Date(this.cluster.clock.now()).toISOString();
    await this.cluster.put(key, isBack ? rest : { ...rest, unobservedSince: at }, presence.lease);
  }

  /** As the API stores a request: a new rotation begins with stage, and one that is open goes on or is aborted. */
  async #rotate(phase: RotationRecord['phase']): Promise<void> {
    const key = keys.rotation(TENANT, LABEL);
    const record = await this.cluster.get<RotationRecord>(key);
    const isOpen = record !== undefined && record.phase !== 'abort';
    if ((phase === 'stage') === isOpen || (phase === 'stage' && record !== undefined)) return;
    const askedAt = new Date(this.cluster.clock.now()).toISOString();
    const fresh = {
      id: 'rot_1',
      path: SECRET_PATH,
      from: 1,
      to: 2,
      material: { by: 'platform' },
      deployment: 'db',
      by: 'me',
    };
    await this.cluster.put(key, { ...fresh, ...record, phase, askedAt });
  }

  async #report(deployment: string, change: Partial<Report>): Promise<void> {
    const replicas = await this.cluster.all<Replica>(ranges.replicasOf(TENANT, deployment));
    const [replica] = replicas.filter(({ nodeId, retiringSince }) => nodeId !== undefined && !retiringSince);
    if (!replica) return;
    const { uid, slot, nodeId, templateHash } = replica;
    const at = new Date(this.cluster.clock.now()).toISOString();
    const common = { replica: uid, deployment, slot, nodeId: nodeId!, templateHash, restarts: 0, at };
    await this.cluster.put(keys.report(TENANT, nodeId!, uid), {
      ...common,
      state: 'running',
      health: 'none',
      ...change,
    });
  }

  /** What is said of a deployment, all of it at one revision of the store. Undefined when there is none. */
  async readSurfaces(deployment: string): Promise<DeploymentSurfaces | undefined> {
    for (;;) {
      const revision = await this.cluster.store.revision();
      const told = await this.#readOnce(deployment, String(revision));
      if ((await this.cluster.store.revision()) === revision) return told;
    }
  }

  /** The same of the job. */
  async readJobSurfaces(): Promise<JobSurfaces | undefined> {
    for (;;) {
      const revision = await this.cluster.store.revision();
      const told = await this.#readJobOnce(String(revision));
      if ((await this.cluster.store.revision()) === revision) return told;
    }
  }

  async #readJobOnce(revision: string): Promise<JobSurfaces | undefined> {
    const job = await this.#get<JobSurfaces['job']>(`jobs/${JOB}`);
    if (job.metadata === undefined) return undefined;
    return {
      job,
      revision,
      explanation: await this.#get<JobExplanation>(`jobs/${JOB}/explain`),
      events: await this.#events(job.metadata.uid),
      printed: {
        describe: await this.#print('describe', 'job', JOB),
        explain: await this.#print('explain', 'job', JOB),
      },
    };
  }

  async #readOnce(deployment: string, revision: string): Promise<DeploymentSurfaces | undefined> {
    const shown = await this.#get<DeploymentSurfaces['deployment']>(`deployments/${deployment}`);
    if (shown.metadata === undefined) return undefined;
    return {
      deployment: shown,
      revision,
      explanation: await this.#get<ExplanationView>(`deployments/${deployment}/explain`),
      events: await this.#events(shown.metadata.uid),
      printed: {
        status: await this.#print('status', deployment),
        describe: await this.#print('describe', 'deployment', deployment),
        explain: await this.#print('explain', 'deployment', deployment),
      },
    };
  }

  async #get<T>(path: string): Promise<T> {
    const { body } = await this.#lab.ask('GET', `/api/v1/${path}`, { token: this.#token });
    return body as unknown as T;
  }

  async #events(uid: string): Promise<readonly StoredEvent[]> {
    const { items = [] } = await this.#get<{ items?: (StoredEvent & { revision: string })[] }>(`events?subject=${uid}`);
    return items.toSorted((a, b) => Number(a.revision) - Number(b.revision));
  }

  async #print(...words: readonly string[]): Promise<string> {
    const terminal = createTestTerminal({ MOORING_SERVER: this.#lab.server.url, MOORING_TOKEN: this.#token });
    await run(words, terminal);
    return terminal.printed.out + terminal.printed.err;
  }
}
