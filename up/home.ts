import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

import type { Development } from './development.js';
import type { ProcessIdentity } from './identity.js';
import { readJson, removeFile, writeJson } from './json-file.js';
import type { PartRecord } from './part.js';
import type { Plan, Progress } from './plan.js';

const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

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
    read: () => readJson<Plan>(this.path('plan.json')),
    write: (plan: Plan) => writeJson(this.path('plan.json'), plan),
  };

  readonly progress = {
    read: () => readJson<Progress>(this.path('run', 'progress.json')),
    write: (progress: Progress) => writeJson(this.path('run', 'progress.json'), progress),
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
