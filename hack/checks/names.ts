import type { Source } from './source-files.js';

const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|const|let|function\*?|enum) ([A-Za-z_$][\w$]*)(?! *from| *\})/gm;

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
    for (const [, name] of text.matchAll(DECLARED)) {
      declaredIn.set(name!, (declaredIn.get(name!) ?? new Set()).add(path));
    }
  }
  const shared = [...declaredIn].filter(([name, paths]) => paths.size > 1 && !(name in allowed));
  const unneeded = Object.keys(allowed).filter(name => (declaredIn.get(name)?.size ?? 0) < 2);
  return [
    ...shared.map(([name, paths]) => `${[...paths][0]}: ${name} is also declared in ${[...paths].slice(1).join(', ')}`),
    ...unneeded.map(name => `hack/checks/names.ts: ${name} is allowed to be shared, and is not`),
  ].sort();
}
