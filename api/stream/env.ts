import type { AgentDispatcher } from '../../pkg/link/index.js';
import type { AssignmentStreams } from './assignments.js';
import type { LogRendezvous } from './logs.js';
import type { OpenStreams } from './open-streams.js';

/** The streams between this server, its agents and the readers of logs. */
export interface StreamEnv {
  readonly dispatcher: AgentDispatcher;
  readonly assignments: AssignmentStreams;
  readonly logs: LogRendezvous;
  readonly streams: OpenStreams;
  /** URL under which agents reach this server and no other. */
  readonly agentUrl: () => string;
}
