import { dirname } from 'node:path';

import { listImports, isTestCode, resolveImport, type Source } from './source-files.js';

const LIMIT = 400;
const TEST_LIMIT = 500;
const VAGUE_NAME = /(^|\/)(utils?|helpers?|common|misc|shared)(\/|\.ts$)/;
const OTHER_SUFFIX =
  /\.(?:fixture|fixtures|corpus|mock|fake|stub|spec)\.ts$|(?:^|\/)(?:fake|mock|stub)-[^/]*(?<!\.testing)(?<!\.test)\.ts$/;
/** Folders whose files are the product, unless their suffix says that they are test code. */
const PRODUCT = /^(?:crds|pkg|controllers|bridge|api|dashboard|up)\//;

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

/** The files that say what a folder is for: a README, or the comment that its index or its program begins with. */
const DESCRIBES = /(?:^|\/)(?:README\.md|(?:index|main)\.ts)$/;

/** Folders of which nothing says what they are for: neither they themselves nor a folder above them that names them. */
export function findUndescribedFolders(sources: readonly Source[]): string[] {
  const descriptions = new Map<string, string>();
  for (const { path, text } of sources.filter(source => DESCRIBES.test(source.path))) {
    const said = path.endsWith('.md') ? text.trim() : (/^(?:#!.*\n)?\/\*\*[^]*?\*\//.exec(text)?.[0] ?? '');
    if (said) descriptions.set(dirname(path), `${descriptions.get(dirname(path)) ?? ''}${said}`);
  }
  const folders = new Set(sources.map(({ path }) => dirname(path)).filter(folder => folder !== '.'));
  return [...folders]
    .filter(folder => !descriptions.has(folder) && !isNamedAbove(folder, descriptions))
    .map(folder => `${folder}: nothing says what it is for; write a README, or name it in that of a folder above`);
}

function isNamedAbove(folder: string, descriptions: ReadonlyMap<string, string>): boolean {
  const names = folder.split('/');
  return names.some((_, depth) => {
    const said = descriptions.get(names.slice(0, depth).join('/') || '.') ?? '';
    const inner = names.slice(depth);
    return (
      said.includes(`\`${inner.join('/')}/\``) || said.includes(`\`${[...inner.slice(0, -1), '<kind>'].join('/')}/\``)
    );
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
