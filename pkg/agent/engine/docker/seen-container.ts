import type { ContainerHealth } from '../../../../crds/report/index.js';
import type { SeenContainer } from '../engine.js';
import { ownerOf } from './labels.js';

/** What we read of `GET /containers/{id}/json`. `Env` and the output of health checks are left where they are. */
export interface Inspected {
  readonly Id: string;
  readonly Name: string;
  readonly Config: { readonly Labels: Readonly<Record<string, string>> | null };
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly Health?: { readonly Status: string } | null;
  };
}

/** A container of ours, or undefined when it is not one. */
export function seenContainer({ Id, Name, Config, State }: Inspected): SeenContainer | undefined {
  const owner = ownerOf(Config.Labels);
  if (!owner) return undefined;

  const state = stateOf(State.Status);
  return {
    id: Id,
    name: Name.replace(/^\//, ''),
    owner,
    state,
    health: healthOf(State.Health?.Status),
    exitCode: state === 'exited' ? State.ExitCode : undefined,
  };
}

function stateOf(status: string): SeenContainer['state'] {
  if (status === 'created') return 'created';
  return status === 'running' || status === 'paused' || status === 'restarting' ? 'running' : 'exited';
}

function healthOf(status: string | undefined): ContainerHealth {
  return status === 'starting' || status === 'healthy' || status === 'unhealthy' ? status : 'none';
}
