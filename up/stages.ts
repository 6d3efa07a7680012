import { existsSync } from 'node:fs';

import type { Home } from './home.js';
import type { Lane, PartEnv, Stages } from './part.js';
import { agentPart } from './parts/agent.js';
import { controllersPart } from './parts/controllers.js';
import { dockerdFolder, dockerdPart } from './parts/dockerd.js';
import { etcdPart } from './parts/etcd.js';
import { demoImagePart, registryPart } from './parts/registry.js';
import { serverPart } from './parts/server.js';
import { findSystemDocker, systemDockerPart } from './parts/system-docker.js';
import type { Plan } from './plan.js';

/** The parts that a plan asks for, in the order they come up. */
export function stagesOf(home: Home, environment: PartEnv['environment']): (plan: Plan) => Promise<Stages> {
  let engineLane: Promise<Lane> | undefined;
  return async ({ nodes, engine }) => {
    const control = [etcdPart, serverPart, controllersPart];
    const agents = Array.from({ length: nodes }, (_, index) => [agentPart(index + 1, engine)]);
    if (engine === 'simulated') return [[control], agents];
    engineLane ??= findEngine(home, environment);
    return [[control, await engineLane], agents];
  };
}

/** An engine that we have started before holds our containers: it is kept, whatever has appeared since. */
async function findEngine(home: Home, environment: PartEnv['environment']): Promise<Lane> {
  const host = existsSync(dockerdFolder(home)) ? undefined : await findSystemDocker(environment);
  return [host === undefined ? dockerdPart : systemDockerPart(host), registryPart, demoImagePart];
}
