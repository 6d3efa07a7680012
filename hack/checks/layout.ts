import { listImports, isTestCode, resolveImport, type Source } from './source-files.js';

const LIMIT = 300;
const TEST_LIMIT = 500;
const VAGUE_NAME = /(^|\/)(utils?|helpers?|common|misc|shared)(\/|\.ts$)/;
const OTHER_SUFFIX =
  /\.(?:fixture|fixtures|corpus|mock|fake|stub|spec)\.ts$|(?:^|\/)(?:fake|mock|stub)-[^/]*(?<!\.testing)(?<!\.test)\.ts$/;
/** Folders whose files are the product, unless their suffix says that they are test code. */
const PRODUCT = /^(?:crds|pkg|controllers|api|dashboard|up)\//;

/** Files that are too long, and names that say nothing. */
export function checkLayout(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const lines = text.split('\n').length - 1;
    const limit = /\.(test|contract)\.ts$/.test(path) ? TEST_LIMIT : LIMIT;
    return [
      ...(lines > limit ? [`${path}: ${lines} lines, the limit is ${limit}`] : []),
      ...(VAGUE_NAME.test(path) ? [`${path}: the name does not say what is in it`] : []),
    ];
  });
}

/**
 * Test code that does not say so in its name: another suffix, or a file of the product that only test code imports. Of
 * the latter, either it is a helper of tests, or nothing needs it.
 */
export function findUnmarkedTestCode(sources: readonly Source[]): string[] {
  const importers = new Map<string, string[]>();
  for (const source of sources) {
    for (const specifier of listImports(source).filter(each => each.startsWith('.'))) {
      const target = resolveImport(source.path, specifier);
      importers.set(target, [...(importers.get(target) ?? []), source.path]);
    }
  }
  const misnamed = sources.filter(({ path }) => OTHER_SUFFIX.test(path));
  const testOnly = sources
    .filter(({ path }) => PRODUCT.test(path) && !isTestCode(path) && !path.endsWith('main.ts'))
    .filter(source => !misnamed.includes(source) && importers.get(source.path)?.every(isTestCode));
  return [
    ...misnamed.map(({ path }) => `${path}: a helper of tests ends in .testing.ts`),
    ...testOnly.map(({ path }) => `${path}: only tests import it; a helper of tests ends in .testing.ts`),
  ];
}
