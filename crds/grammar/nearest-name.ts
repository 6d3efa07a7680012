const LONGEST = 40;

/** The known name that was probably meant, or undefined when none is near. */
export function findNearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > LONGEST) return undefined;
  const asked = plain(given);
  let best: string | undefined;
  let least = Math.floor(Math.max(asked.length, 3) / 3) + 1;
  for (const name of known) {
    const distance = editDistance(asked, plain(name));
    if (distance < least) {
      best = name;
      least = distance;
    }
  }
  return best;
}

/** Whether the two differ in case and separators only: `health_check` and `healthCheck`. */
export function isSameSpelling(given: string, known: string): boolean {
  return given.length <= LONGEST && plain(given) === plain(known);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '').replaceAll('-', '');
}

/** Insertions, deletions and replacements that turn one into the other. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = previous[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[to.length]!;
}
