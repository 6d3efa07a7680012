/** A line as it is shown. */
export interface ShownLogLine {
  readonly id: number;
  readonly at: string | null;
  /** Whose it is, where several are read together. */
  readonly replica: number | undefined;
  readonly isError: boolean;
  readonly text: string;
}

/** Lines with those that have just come, by their times where they have some: those of several replicas come in turns. */
export function mergeLogLines(
  before: readonly ShownLogLine[],
  added: readonly ShownLogLine[],
): readonly ShownLogLine[] {
  const last = before.at(-1)?.at ?? '';
  const all = [...before, ...added];
  let previous = last;
  const isInOrder = added.every(({ at }) => {
    const follows = at === null || at >= previous;
    previous = at ?? previous;
    return follows;
  });
  if (isInOrder) return all;
  return all.toSorted((a, b) => (a.at === null || b.at === null || a.at === b.at ? a.id - b.id : a.at < b.at ? -1 : 1));
}
