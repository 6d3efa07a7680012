/**
 * `make generate`: writes every generated file; with `--check` only says which ones differ from what would be written.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { readSources } from './checks/source-files.js';
import { renderConformance } from './conformance.js';
import { renderCodesReference } from './generate-codes.js';
import { renderCommandsReference } from './generate-commands.js';
import { renderDashboardKinds } from './generate-dashboard.js';
import { renderExampleObjects } from './generate-examples.js';
import { renderKindsReference } from './generate-kinds.js';
import { renderManifestFiles } from './generate-manifests.js';
import { renderManualPage } from './generate-manual.js';
import { renderMetricsReference } from './generate-metrics.js';
import { renderSettingsReference } from './generate-settings.js';

const files: Readonly<Record<string, string>> = {
  'dashboard/model/generated-kinds.ts': renderDashboardKinds(),
  'docs/codes.md': renderCodesReference(),
  'docs/COMMANDS.md': renderCommandsReference(),
  'docs/conformance.md': renderConformance(readFileSync('docs/conformance.md', 'utf8'), readSources(['*.test.ts'])),
  'docs/KINDS.md': renderKindsReference(),
  'docs/CONFIGURATION.md': renderSettingsReference(),
  'docs/METRICS.md': renderMetricsReference(),
  'packaging/moor.1': await renderManualPage(),
  ...renderExampleObjects(),
  ...renderManifestFiles(),
};

const checking = process.argv.includes('--check');
for (const [path, text] of Object.entries(files)) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  if (checking) {
    console.log(`${path}: not what \`make generate\` writes`);
    process.exitCode = 1;
  } else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(`wrote ${path}`);
  }
}
