import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import type { DevelopmentAccess } from '../../pkg/bootstrap/index.js';
import type { Settings } from '../../pkg/config/index.js';
import { findHomeFault, makeFolder, readDocument, toHomeFault } from './home-fault.js';
import type { ProcessIdentity } from '../machine/os-process.js';

const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/** The container engine: one that is found or started, or a simulated one. */
export type EngineKind = 'docker' | 'simulated';

/** The desired state that `moor up` gives to the supervisor. */
export interface UpPlan {
  /** Identifies this call of `moor up` in the supervisor's progress. */
  readonly id: string;
  readonly nodes: number;
  readonly engine: EngineKind;
  /** Folders that the agents take volumes of type bind from; left out where there are none. */
  readonly bindRoots?: readonly string[];
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

/** Results of a part for the parts after it, mostly addresses. */
export type PartFacts = Readonly<Record<string, string>>;

/** A process that was started: enough to recognise it, to use it, and to end it. */
export interface PartRecord {
  readonly name: string;
  readonly process: ProcessIdentity;
  /** The configuration it was started with. A part whose configuration differs now is replaced. */
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
  /** The authority of its certificate, where it also answers TLS. */
  readonly caFile?: string;
}

/** The content of `dev.json` for a server and its first tokens. */
export function toDevelopment(
  server: string,
  { tenant, tenantToken, adminToken }: DevelopmentAccess,
  caFile?: string,
): Development {
  const tokens = { tenant: tenantToken, platform: adminToken };
  return { server, tenant, tokens, ...(caFile !== undefined && { caFile }) };
}

interface RegistryLoginFile {
  readonly auths: Readonly<Record<string, { readonly auth: string }>>;
}

/** The folder where the all-in-one keeps its state. */
export class Home {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Makes the folder, readable by its owner only: it holds tokens. */
  create(): void {
    try {
      for (const name of ['run', 'logs']) makeFolder(join(this.folder, name));
    } catch (thrown) {
      throw toHomeFault(thrown, this.folder) ?? thrown;
    }
  }

  /** Throws when a first process could not work here: no room, no permission, a damaged file. */
  check(): void {
    const fault = findHomeFault(this.folder);
    if (fault) throw fault;
    this.plan.read();
    this.tokens.read();
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  /** The log file of a part. A log that has grown large is renamed first. */
  log(name: string): string {
    const path = this.path('logs', `${name}.log`);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LOG_LIMIT_BYTES) renameSync(path, `${path}.1`);
    return path;
  }

  readonly plan = {
    exists: () => existsSync(this.path('plan.json')),
    read: () =>
      readDocument<UpPlan>(
        this.path('plan.json'),
        'remove it, and run "moor up --nodes <count>" with the number of nodes that there were',
        ({ nodes, engine }) => Number.isInteger(nodes) && (engine === 'docker' || engine === 'simulated'),
      ),
    write: (plan: UpPlan) => writeJson(this.path('plan.json'), plan),
  };

  /** The first tokens, which the server keeps there. */
  readonly tokens = {
    read: () =>
      readDocument<DevelopmentAccess>(
        this.path('tokens.json'),
        'remove it, and run "moor up": the server writes new tokens',
        ({ tenant, tenantToken, adminToken }) => [tenant?.id, tenantToken, adminToken].every(isText),
      ),
  };

  readonly progress = {
    read: () => readRecord<PlanProgress>(this.path('run', 'progress.json')),
    write: (progress: PlanProgress) => writeJson(this.path('run', 'progress.json'), progress),
  };

  /** Read by commands on this machine: see `findDevelopmentFile` in `pkg/cli`. */
  readonly development = {
    read: () =>
      readDocument<Development>(
        this.path('dev.json'),
        'run "moor down" and "moor up", which write it again',
        ({ server, tokens }) => [server, tokens?.tenant].every(isText),
      ),
    write: (development: Development) => writeJson(this.path('dev.json'), development),
    remove: () => removeFile(this.path('dev.json')),
  };

  /** Settings of the server and of the controllers, for `--config`: `moor admin` takes them too. */
  readonly settings = {
    read: () => readRecord<Partial<Settings>>(this.path('settings.json')),
    write: (settings: Partial<Settings>) => writeJson(this.path('settings.json'), settings),
  };

  /** As `docker login` writes it. */
  readonly registryLogins = {
    path: () => this.path('registry', 'config.json'),
    read: () => readRecord<RegistryLoginFile>(this.path('registry', 'config.json')),
    write: (logins: RegistryLoginFile) => writeJson(this.path('registry', 'config.json'), logins),
  };

  readonly supervisor = {
    read: () => readRecord<ProcessIdentity>(this.path('run', 'supervisor.json')),
    remove: () => removeFile(this.path('run', 'supervisor.json')),
  };

  /** The processes that were started. */
  readonly records = {
    read: (name: string) => readRecord<PartRecord>(this.path('run', `part-${name}.json`)),
    write: (record: PartRecord) => writeJson(this.path('run', `part-${record.name}.json`), record),
    remove: (name: string) => removeFile(this.path('run', `part-${name}.json`)),
    names: (): readonly string[] =>
      listFolder(this.path('run')).flatMap(file => /^part-(.*)\.json$/.exec(file)?.[1] ?? []),
  };
}

/** A node whose agent has state in this home. It has an id once it is enrolled. */
export interface LocalNode {
  readonly name: string;
  readonly id: string | undefined;
}

/** Every node that was ever started in this home and not removed since. */
export function listLocalNodes(home: Home): readonly LocalNode[] {
  return listFolder(home.path('agents')).map(name => ({ name, id: readNodeId(home.path('agents', name)) }));
}

/** The id of the node whose agent has this state folder. Undefined while it has none, and when what it knows is damaged. */
export function readNodeId(state: string): string | undefined {
  return readRecord<{ readonly node?: { readonly id: string } }>(join(state, 'node.json'))?.node?.id;
}

function listFolder(path: string): readonly string[] {
  return existsSync(path) ? readdirSync(path) : [];
}

/** Writes a document atomically, readable by its owner only: readers see the old one or the new one, also after a crash. */
export function writeJson(path: string, value: unknown): void {
  makeFolder(dirname(path));
  const draft = `${path}.${process.pid}.new`;
  try {
    const file = openSync(draft, 'w', 0o600);
    try {
      writeSync(file, `${JSON.stringify(value, null, 2)}\n`);
      fsyncSync(file); // or a power cut could leave an empty file under its name
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (thrown) {
    rmSync(draft, { force: true });
    throw toHomeFault(thrown, dirname(path)) ?? thrown;
  }
}

/** Reads what can be made again. Undefined when the file does not exist or is damaged. */
function readRecord<T>(path: string): T | undefined {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as T | null) ?? undefined;
  } catch (thrown) {
    const isAbsent = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    if (isAbsent || thrown instanceof SyntaxError) return undefined;
    throw toHomeFault(thrown, dirname(path)) ?? thrown;
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function removeFile(path: string): void {
  rmSync(path, { force: true });
}
