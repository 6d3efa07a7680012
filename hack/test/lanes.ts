/** Does all work, at most `count` at a time, each begun in its turn. Answers in the order of the work. */
export async function runInLanes<T>(count: number, work: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const done: T[] = [];
  const left = [...work.entries()];
  const lane = async () => {
    for (let next = left.shift(); next; next = left.shift()) done[next[0]] = await next[1]();
  };
  await Promise.all(Array.from({ length: count }, lane));
  return done;
}
