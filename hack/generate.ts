/**
 * `make generate`: writes every generated file; with `--check` only says which ones differ from what would be written.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { codesReference } from './generate-codes.js';

const files: Readonly<Record<string, () => string>> = {
  'docs/codes.md': codesReference,
};

const checking = process.argv.includes('--check');
for (const [path, render] of Object.entries(files)) {
  const text = render();
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  if (checking) {
    console.log(`${path}: not what \`make generate\` writes`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, text);
    console.log(`wrote ${path}`);
  }
}
