import type { Home } from './home.js';
import { agentPart } from './parts/agent.js';
import { controllersPart } from './parts/controllers.js';
import { etcdPart } from './parts/etcd.js';
import { serverPart } from './parts/server.js';
import type { Stages } from './part.js';
import type { Plan } from './plan.js';

/** The parts that a plan asks for, in the order they come up. */
export function stagesOf(_home: Home): (plan: Plan) => Promise<Stages> {
  return async ({ nodes, engine }) => {
    const control = [etcdPart, serverPart, controllersPart];
    const agents = Array.from({ length: nodes }, (_, index) => [agentPart(index + 1, engine)]);
    return [[control], agents];
  };
}
