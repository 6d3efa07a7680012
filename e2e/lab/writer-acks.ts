/** A record that a container has acknowledged, and when: in milliseconds since the boot of the machine, which all containers share. */
interface Acknowledged {
  readonly n: number;
  readonly at: number;
}

/** What one run of a container has acknowledged, in its own words. */
export interface WriterLife {
  readonly container: string;
  /** The last record that it found when it began; undefined until it has looked. */
  readonly found?: number;
  /** Whether what it found was whole: every number once, in order. */
  readonly isWhole?: boolean;
  readonly acknowledged: readonly Acknowledged[];
}

/** Reads the lines of a container, which begins anew each time that it is started. A line that a kill has cut short acknowledges nothing. */
export function readLives(container: string, text: string): readonly WriterLife[] {
  const runs = text.split(/^(?=found )/m).filter(run => run !== '');
  return runs.map(run => {
    const [, found, whole] = /^found (\d+) (whole|broken)\n/.exec(run) ?? [];
    const acknowledged = Array.from(run.matchAll(/^stored (\d+) (\d+)\.(\d\d)\n/gm), ([, n, seconds, hundredths]) => ({
      n: Number(n),
      at: Number(seconds) * 1000 + Number(hundredths) * 10,
    }));
    return { container, acknowledged, ...(found && { found: Number(found), isWhole: whole === 'whole' }) };
  });
}

/** That two containers acknowledged records at the same time, which none may. */
export interface Overlap {
  readonly containers: readonly [string, string];
  /** What the one that began first acknowledged when the other had begun to, and for how long. */
  readonly records: number;
  readonly forMs: number;
}

/** Every two containers of which one went on acknowledging after the other had begun. */
export function findOverlaps(lives: readonly WriterLife[]): readonly Overlap[] {
  const begun = lives
    .filter(({ acknowledged }) => acknowledged.length > 0)
    .toSorted((a, b) => a.acknowledged[0]!.at - b.acknowledged[0]!.at);
  return begun.flatMap((first, index) =>
    begun.slice(index + 1).flatMap(second => {
      const from = second.acknowledged[0]!.at;
      const late = first.acknowledged.filter(({ at }) => at > from);
      if (late.length === 0) return [];
      return [
        {
          containers: [first.container, second.container] as const,
          records: late.length,
          forMs: late.at(-1)!.at - from,
        },
      ];
    }),
  );
}
