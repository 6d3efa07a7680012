import type { Static } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import type { Alteration } from '../rule/index.js';
import type { Deployment } from './deployment.js';
import type { HealthCheck } from './health-check.js';
import type { DeploymentFacts } from './limits.js';
import type { Port, SentPorts } from './ports.js';
import { REPLICAS_DEFAULT } from './replicas.js';
import type { deploymentSchema } from './rules.js';

/** A deployment as a client sends it, once the rules have passed it. */
export type SentDeployment = Static<typeof deploymentSchema>;

/** Notes one difference between what was sent and what is to be stored. */
type Announce = (field: FieldPath | string, from: unknown, to: unknown, why: string) => void;

/** Fills in defaults and normalises aliases; every change it makes stands in the alterations. */
export function complete(
  sent: SentDeployment,
  facts: DeploymentFacts,
  secretsVersion: number,
): { readonly spec: Deployment; readonly alterations: readonly Alteration[] } {
  const alterations: Alteration[] = [];
  const announce: Announce = (field, from, to, why) => {
    alterations.push({ field: field.toString(), from: from ?? null, to, why });
  };

  const { entrypoint, command, ports, nodeId, healthCheck, environment, resources, labels } = sent;
  if (sent.replicas === undefined) announce('replicas', null, REPLICAS_DEFAULT, 'default');
  const spec: Deployment = {
    kind: 'Deployment',
    name: sent.name,
    image: sent.image,
    replicas: sent.replicas ?? REPLICAS_DEFAULT,
    ...(entrypoint && { entrypoint }),
    ...(command && { command }),
    ...(ports && { ports: completePorts(ports, announce) }),
    ...(nodeId !== undefined && { nodeId: idOf(nodeId, facts, announce) }),
    ...(healthCheck && { healthCheck: completeCheck(healthCheck as Omit<HealthCheck, 'type'>, announce) }),
    ...(environment && { environment }),
    secretsVersion,
    ...(resources && { resources }),
    ...(labels && { labels }),
  };
  if (sent.secretsVersion !== secretsVersion) {
    const why = sent.secretsVersion === undefined ? 'default' : 'only the rotation operation raises it';
    announce('secretsVersion', sent.secretsVersion, secretsVersion, why);
  }
  return { spec, alterations };
}

function completePorts(ports: SentPorts, announce: Announce): readonly Port[] {
  return ports.map(({ protocol, ...port }, position) => {
    if (protocol === undefined) {
      announce(FieldPath.root.child('ports').index(position).child('protocol'), null, 'tcp', 'default');
    }
    return { ...port, protocol: protocol ?? 'tcp' };
  });
}

function completeCheck(check: Omit<HealthCheck, 'type'> & { readonly type?: 'exec' }, announce: Announce): HealthCheck {
  if (check.type === undefined) announce('healthCheck.type', null, 'exec', 'a check with a command is an exec check');
  return { ...check, type: 'exec' };
}

function idOf(nodeId: string, facts: DeploymentFacts, announce: Announce): string {
  if (facts.nodes === 'unreadable' || facts.nodes.some(node => node.id === nodeId)) return nodeId;
  const named = facts.nodes.find(node => node.name === nodeId);
  if (!named) return nodeId;
  announce('nodeId', nodeId, named.id, 'the id of the node of that name');
  return named.id;
}
