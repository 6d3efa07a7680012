import type { Static } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import { type Alteration, type Announce, announcements } from '../rule/index.js';
import type { SecretWrite } from '../secret/index.js';
import { completeMounts, completePlacement, completeSecrets } from '../workload/index.js';
import { completeDependencies } from './depends-on.js';
import type { Deployment } from './deployment.js';
import type { HealthCheck } from './health-check.js';
import type { DeploymentFacts, DeploymentLimits } from './limits.js';
import type { Port, SentPorts } from './ports.js';
import { REPLICAS_DEFAULT } from './replicas.js';
import { completeRollout } from './rollout.js';
import type { deploymentSchema } from './rules.js';

/** A deployment as a client sends it, once the rules have passed it. */
export type SentDeployment = Static<typeof deploymentSchema>;

/** What is to become of an accepted document. */
export interface Completed {
  readonly spec: Deployment;
  readonly alterations: readonly Alteration[];
  /** For the secrets store, and for nothing else. */
  readonly material: readonly SecretWrite[];
}

/** Fills in defaults and normalises aliases; every change it makes stands in the alterations. */
export function complete(
  sent: SentDeployment,
  facts: DeploymentFacts,
  limits: DeploymentLimits,
  secretsVersion: number,
): Completed {
  const { alterations, announce } = announcements();
  if (sent.replicas === undefined) announce('replicas', null, REPLICAS_DEFAULT, 'default');
  const first = processPart(sent, facts, announce);
  const secrets = sent.secrets && completeSecrets(sent.secrets, facts, limits.secrets, announce);
  if (sent.secretsVersion !== secretsVersion) {
    const why = sent.secretsVersion === undefined ? 'default' : 'only the rotation operation raises it';
    announce('secretsVersion', sent.secretsVersion, secretsVersion, why);
  }
  const { composedSecrets, volumes, networks, resources, placement, dependsOn, rollout, labels } = sent;
  const spec: Deployment = {
    ...first,
    ...(secrets && { secrets: secrets.secrets }),
    ...(composedSecrets && { composedSecrets }),
    secretsVersion,
    ...(volumes && { volumes: completeMounts(volumes, facts, announce) }),
    ...(networks && { networks }),
    ...(resources && { resources }),
    ...(placement && { placement: completePlacement(placement, announce) }),
    ...(dependsOn && { dependsOn: completeDependencies(dependsOn, announce) }),
    ...(rollout && { rollout: completeRollout(rollout, announce) }),
    ...(labels && { labels }),
  };
  return { spec, alterations, material: secrets?.material ?? [] };
}

/** What runs, how often, and on which node. */
function processPart(sent: SentDeployment, facts: DeploymentFacts, announce: Announce) {
  const { entrypoint, command, ports, nodeId, healthCheck, environment } = sent;
  return {
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
  } as const;
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
