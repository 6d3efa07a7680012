/** What stops the writers of one volume, unless it is put off. */
export interface FencerDeadline {
  readonly volume: string;
  /** The folder of the machine that its containers have mounted. */
  readonly folder: string;
  /** In milliseconds since the boot of the machine. */
  readonly at: number;
}

/**
 * Kills what writes to volumes when their agent does not put it off in time: also when the agent is dead, stands still, or has an engine that does not
 * answer. It outlives the agent.
 */
export interface Fencer {
  /** Takes these deadlines in place of all those before. Resolves once they are kept whatever becomes of the agent; throws without a fencer. */
  arm(deadlines: readonly FencerDeadline[]): Promise<void>;
}

/** What a fencer answers when it keeps what it was ordered. */
export const ARMED = 'armed';

/** The deadlines that a line orders; undefined where it is none. */
export function parseDeadlines(line: string): readonly FencerDeadline[] | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return Array.isArray(parsed) && parsed.every(isDeadline) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isDeadline(each: unknown): each is FencerDeadline {
  const { volume, folder, at } = (each ?? {}) as Partial<FencerDeadline>;
  return typeof volume === 'string' && typeof folder === 'string' && folder.startsWith('/') && Number.isFinite(at);
}
