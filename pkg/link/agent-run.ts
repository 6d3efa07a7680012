import type { NodePresence } from '../../crds/node/index.js';

/** One run of an agent, from the start of its process to its end. */
export interface AgentRun {
  /** 16 hex digits, chosen at random when the process starts. */
  readonly id: string;
  /** Earlier runs of the same agent of which the agent knows that their processes have ended. */
  readonly ended: readonly string[];
}

/** How many earlier runs an agent names at most. */
export const ENDED_RUNS_MAX = 8;

const RUN_ID = /^[0-9a-f]{16}$/;

/** The value of `AGENT_HEADER`: `v1.<run>` and the runs that have ended. */
export function formatAgentRun({ id, ended }: AgentRun): string {
  return ['v1', id, ...ended.slice(0, ENDED_RUNS_MAX)].join('.');
}

export function parseAgentRun(header: string): AgentRun | undefined {
  if (header.length > 200) return undefined;
  const [version, id = '', ...ended] = header.split('.');
  const isKnown = version === 'v1' && ended.length <= ENDED_RUNS_MAX && [id, ...ended].every(each => RUN_ID.test(each));
  return isKnown ? { id, ended } : undefined;
}

/** Whether a run has the node, may have it now, or must wait until the run that has it is silent for long enough. */
export type HolderVerdict = 'holds' | 'takes_over' | 'refused';

/**
 * Judges which of several agents with one identity is the node's.
 *
 * The first run has it for as long as its lease lasts. Another one takes it over at once only when it knows that the process of
 * the holder has ended.
 */
export function judgeRun(presence: Pick<NodePresence, 'run'> | undefined, run: AgentRun): HolderVerdict {
  if (!presence) return 'takes_over';
  if (presence.run === run.id) return 'holds';
  return run.ended.includes(presence.run) ? 'takes_over' : 'refused';
}
