import type { Source } from './source-files.js';

const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|const enum|const|let|var|function\*?|enum|namespace) ([A-Za-z_$][\w$]*)(?! *from| *\})/gm;

const EXPORT_LIST = /^export (?:type )?\{([^}]*)\}/gm;

/** The names that a file gives to something. To export what another file declares under its own name declares nothing. */
function listDeclared(text: string): readonly string[] {
  const listed = [...text.matchAll(EXPORT_LIST)].flatMap(([, names]) => names!.split(','));
  const renamed = listed.flatMap(each => {
    const [own = '', as = own] = each
      .replace(/\btype /, '')
      .trim()
      .split(/ as /);
    const isOwn =
      own !== '' &&
      new RegExp(`^(?:async )?(?:class|const|let|var|function\\*?|type|interface) ${own}\\b`, 'm').test(text);
    return as !== own || isOwn ? [as] : [];
  });
  return [...[...text.matchAll(DECLARED)].map(([, name]) => name!), ...renamed];
}

/**
 * Names that several files may declare, each with the reason. A short list: a name that needs a reason is usually better
 * renamed.
 */
export const sharedNames: Readonly<Record<string, string>> = {};

/** Exported names that more than one file declares. Re-exports declare nothing. */
export function findSharedNames(
  sources: readonly Source[],
  allowed: Readonly<Record<string, string>> = sharedNames,
): string[] {
  const declaredIn = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    for (const name of listDeclared(text)) declaredIn.set(name, (declaredIn.get(name) ?? new Set()).add(path));
  }
  const shared = [...declaredIn].filter(([name, paths]) => paths.size > 1 && !(name in allowed));
  const unneeded = Object.keys(allowed).filter(name => (declaredIn.get(name)?.size ?? 0) < 2);
  return [
    ...shared.map(([name, paths]) => `${[...paths][0]}: ${name} is also declared in ${[...paths].slice(1).join(', ')}`),
    ...unneeded.map(name => `hack/checks/names.ts: ${name} is allowed to be shared, and is not`),
  ].sort();
}
