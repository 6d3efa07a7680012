import { listImports, resolveImport, type Source } from './source-files.js';

/**
 * Import circles, type imports included: each group of files that reach each other is one finding, with one way round.
 * Files of a circle cannot be read one after the other, and the order in which they are loaded decides what they see.
 */
export function findCircles(sources: readonly Source[]): string[] {
  const known = new Set(sources.map(({ path }) => path));
  const arrows = new Map(
    sources.map(source => {
      const targets = listImports(source)
        .filter(specifier => specifier.startsWith('.'))
        .map(specifier => resolveImport(source.path, specifier))
        .filter(target => known.has(target));
      return [source.path, [...new Set(targets)]];
    }),
  );
  return groupCircles(arrows).map(group => `${group[0]}: import circle ${wayRound(group, arrows).join(' → ')}`);
}

type Arrows = ReadonlyMap<string, readonly string[]>;

/** Tarjan's strongly connected components, those of more than one file. */
function groupCircles(arrows: Arrows): string[][] {
  const index = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (path: string): number => {
    let least = index.size;
    const own = least;
    index.set(path, own);
    stack.push(path);
    for (const target of arrows.get(path) ?? []) {
      if (!index.has(target)) least = Math.min(least, visit(target));
      else if (stack.includes(target)) least = Math.min(least, index.get(target)!);
    }
    if (least === own) {
      const group = stack.splice(stack.indexOf(path));
      if (group.length > 1) groups.push(group.sort());
    }
    return least;
  };
  for (const path of arrows.keys()) if (!index.has(path)) visit(path);
  return groups;
}

/** The shortest way from the first file of a group back to itself. */
function wayRound(group: readonly string[], arrows: Arrows): string[] {
  const [first] = group as [string];
  const ways: string[][] = [[first]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way; way = ways.shift()) {
    for (const target of arrows.get(way.at(-1)!) ?? []) {
      if (target === first) return [...way, first];
      if (!group.includes(target) || seen.has(target)) continue;
      seen.add(target);
      ways.push([...way, target]);
    }
  }
  return [...group];
}
