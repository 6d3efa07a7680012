import { existsSync } from 'node:fs';

import type { Home } from './home.js';
import { keptNodes } from './kept-nodes.js';
import type { Part, PartEnv, Stages } from './part.js';
import { agentPart, nodeName } from './parts/agent.js';
import { controllersPart } from './parts/controllers.js';
import { dockerdFolder, dockerdPart } from './parts/dockerd.js';
import { etcdPart } from './parts/etcd.js';
import { leaverPart } from './parts/leaver.js';
import { demoImagePart, registryPart } from './parts/registry.js';
import { serverPart } from './parts/server.js';
import { findSystemDocker, systemDockerPart } from './parts/system-docker.js';
import type { Plan } from './plan.js';

/** The parts that a plan asks for, in the order they come up. */
export function stagesOf(home: Home, environment: PartEnv['environment']): (plan: Plan) => Promise<Stages> {
  let enginePart: Promise<Part> | undefined;
  return async ({ id, nodes, engine }) => {
    const numbers = Array.from({ length: nodes }, (_, index) => index + 1);
    const control = [etcdPart, serverPart, controllersPart];
    const agents = numbers.map(number => [agentPart(number, engine)]);
    const leavers = keptNodes(home)
      .filter(({ name }) => !numbers.some(number => nodeName(number) === name))
      .map(node => [leaverPart(node, id)]);
    if (engine === 'simulated') return [[control], leavers, agents];
    enginePart ??= findEngine(home, environment);
    // The registry comes first: the server is told which one on this machine it may ask.
    return [[[registryPart]], [control, [await enginePart, demoImagePart]], leavers, agents];
  };
}

/** An engine that we have started before holds our containers: it is kept, whatever has appeared since. */
async function findEngine(home: Home, environment: PartEnv['environment']): Promise<Part> {
  const host = existsSync(dockerdFolder(home)) ? undefined : await findSystemDocker(environment);
  return host === undefined ? dockerdPart : systemDockerPart(host);
}
