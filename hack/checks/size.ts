import { existsSync, readFileSync } from 'node:fs';

import { sourceFiles } from './source-files.js';

const LIMIT = 300;
const TEST_LIMIT = 500;
const DRAWERS = /(^|\/)(utils?|helpers?|common|misc|shared)(\/|\.ts$)/;

/** Files that grew past what one can hold in mind, and names that say nothing. */
export function checkSize(): string[] {
  return sourceFiles()
    .filter(path => existsSync(path))
    .flatMap(path => {
      const lines = readFileSync(path, 'utf8').split('\n').length - 1;
      const limit = /\.(test|contract)\.ts$/.test(path) ? TEST_LIMIT : LIMIT;
      const long = lines > limit ? [`${path}: ${lines} lines, the limit is ${limit}`] : [];
      const drawer = DRAWERS.test(path) ? [`${path}: a name that says nothing`] : [];
      return [...long, ...drawer];
    });
}
