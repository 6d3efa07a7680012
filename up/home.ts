import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { DevelopmentAccess } from '../api/index.js';
import type { ProcessIdentity } from './os-process.js';

const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/** What runs containers: an engine that is found or started, or a simulated one. */
export type EngineKind = 'docker' | 'simulated';

/** What `moor up` asks of the supervisor. */
export interface UpPlan {
  /** Identifies this call of `moor up` in the supervisor's progress. */
  readonly id: string;
  readonly nodes: number;
  readonly engine: EngineKind;
}

export type PlanStepState = 'waiting' | 'working' | 'done' | 'failed';

/** One part of a plan, as the user follows it. */
export interface PlanStep {
  readonly name: string;
  readonly title: string;
  readonly state: PlanStepState;
  readonly ms?: number;
  /** Its address, or the reason why it failed. */
  readonly detail?: string;
  /** What to do about the failure. */
  readonly remedy?: string;
}

/** How far the supervisor has carried out a plan. */
export interface PlanProgress {
  readonly plan: string;
  readonly outcome: 'working' | 'up' | 'failed';
  readonly steps: readonly PlanStep[];
}

/** What a part tells the parts after it: addresses, mostly. */
export type PartFacts = Readonly<Record<string, string>>;

/** A process that was started: enough to recognise it, to use it, and to end it. */
export interface PartRecord {
  readonly name: string;
  readonly process: ProcessIdentity;
  /** What it was started with. A part that would now be started with something else is replaced. */
  readonly recipe: string;
  readonly facts: PartFacts;
  readonly detail: string;
  /** How long it has to end by itself. */
  readonly graceMs: number;
}

/** `dev.json`: the address of the development server, and the tokens for it. */
export interface Development {
  readonly server: string;
  readonly tenant: { readonly id: string; readonly name: string };
  readonly tokens: { readonly tenant: string; readonly platform: string };
}

/** What commands on this machine need to know of a server and of its first tokens. */
export function toDevelopment(server: string, { tenant, tenantToken, adminToken }: DevelopmentAccess): Development {
  return { server, tenant, tokens: { tenant: tenantToken, platform: adminToken } };
}

/** Everything the all-in-one keeps on disk, below one folder. */
export class Home {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Makes the folder, readable by its owner only: it holds tokens. */
  create(): void {
    for (const name of ['run', 'logs']) mkdirSync(join(this.folder, name), { recursive: true, mode: 0o700 });
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  /** Where a part logs. A log that has grown large is set aside first. */
  log(name: string): string {
    const path = this.path('logs', `${name}.log`);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LOG_LIMIT_BYTES) renameSync(path, `${path}.1`);
    return path;
  }

  get exists(): boolean {
    return existsSync(this.folder);
  }

  readonly plan = {
    read: () => readJson<UpPlan>(this.path('plan.json')),
    write: (plan: UpPlan) => writeJson(this.path('plan.json'), plan),
  };

  readonly progress = {
    read: () => readJson<PlanProgress>(this.path('run', 'progress.json')),
    write: (progress: PlanProgress) => writeJson(this.path('run', 'progress.json'), progress),
  };

  /** Read by commands on this machine: see `developmentFile` in `pkg/cli`. */
  readonly development = {
    read: () => readJson<Development>(this.path('dev.json')),
    write: (development: Development) => writeJson(this.path('dev.json'), development),
    remove: () => removeFile(this.path('dev.json')),
  };

  readonly supervisor = {
    read: () => readJson<ProcessIdentity>(this.path('run', 'supervisor.json')),
    remove: () => removeFile(this.path('run', 'supervisor.json')),
  };

  /** What was started, and as which process. */
  readonly records = {
    read: (name: string) => readJson<PartRecord>(this.path('run', `part-${name}.json`)),
    write: (record: PartRecord) => writeJson(this.path('run', `part-${record.name}.json`), record),
    remove: (name: string) => removeFile(this.path('run', `part-${name}.json`)),
    names: () => this.#partNames(),
  };

  #partNames(): readonly string[] {
    const folder = this.path('run');
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .filter(name => name.startsWith('part-') && name.endsWith('.json'))
      .map(name => basename(name, '.json').slice('part-'.length));
  }
}

/** A node whose agent has state in this home. It has an id once it is enrolled. */
export interface LocalNode {
  readonly name: string;
  readonly id: string | undefined;
}

/** Every node that was ever started in this home and not removed since. */
export function listLocalNodes(home: Home): readonly LocalNode[] {
  const folder = home.path('agents');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map(name => {
    const kept = readJson<{ readonly node: { readonly id: string } }>(home.path('agents', name, 'node.json'));
    return { name, id: kept?.node.id };
  });
}

/** Writes a document atomically: a reader, or a crash, finds the old one or the new one. Only its owner may read it. */
export function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** Reads a document. Undefined when the file does not exist. */
export function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

function removeFile(path: string): void {
  rmSync(path, { force: true });
}
