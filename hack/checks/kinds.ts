import { kinds } from '../../crds/kinds/index.js';
import type { Source } from './source-files.js';

const DESCRIPTOR = /^export const (\w+?)(?:Kind)?\b[^=;]*=\s*defineKind\s*[<(]/gm;

/**
 * Descriptors that are not in the list of kinds, from which everything else is derived, and the reverse; and columns that
 * the dashboard could not load.
 */
export function findUnlistedKinds(
  sources: readonly Source[],
  listed = kinds.map(kind => kind.singular as string),
): string[] {
  const declared = sources
    .filter(({ path }) => path.startsWith('crds/') && !path.endsWith('.testing.ts'))
    .flatMap(({ text }) => [...text.matchAll(DESCRIPTOR)].map(([, singular]) => singular!));
  const inline = sources.filter(
    ({ path, text }) => /^crds\/\w+\/kind\.ts$/.test(path) && text.includes('defineColumns'),
  );
  return [
    ...declared
      .filter(kind => !listed.includes(kind))
      .map(kind => `${kind}: has a descriptor, and is not in crds/kinds/list.ts`),
    ...listed
      .filter(kind => !declared.includes(kind))
      .map(kind => `${kind}: is in crds/kinds/list.ts, and has no descriptor`),
    ...inline.map(({ path }) => `${path}: columns stand in columns.ts, which the dashboard loads without the schemas`),
  ];
}
