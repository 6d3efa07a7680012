import type { Static } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import { type Alteration, type Announce, recordAlterations } from '../rule/index.js';
import type { SecretWrite } from '../secret/index.js';
import { completeMounts, completePlacement, completeSecrets } from '../workload/index.js';
import { completeDependencies } from './depends-on.js';
import type { Deployment, DeploymentFacts, DeploymentLimits } from './deployment.js';
import type { HealthCheck } from './health-check.js';
import { completeRollout } from './rollout.js';
import type { deploymentSchema } from './rules.js';
import { type Port, type PortsInput, REPLICAS_DEFAULT } from './simple-fields.js';

/** A deployment as a client sends it, once the rules have passed it. */
export type DeploymentInput = Static<typeof deploymentSchema>;

/** What is to become of an accepted document. */
export interface DeploymentCompletion {
  readonly spec: Deployment;
  readonly alterations: readonly Alteration[];
  /** For the secrets store, and for nothing else. */
  readonly material: readonly SecretWrite[];
}

/** Fills in defaults and normalises aliases; every change it makes stands in the alterations. */
export function completeDeployment(
  sent: DeploymentInput,
  facts: DeploymentFacts,
  limits: DeploymentLimits,
  secretsVersion: number,
): DeploymentCompletion {
  const { alterations, announce } = recordAlterations();
  if (sent.replicas === undefined) announce('replicas', null, REPLICAS_DEFAULT, 'default');
  const ports = sent.ports && completePorts(sent.ports, announce);
  const nodeId = sent.nodeId === undefined ? undefined : idOf(sent.nodeId, facts, announce);
  const healthCheck = sent.healthCheck && completeCheck(sent.healthCheck as SentCheck, announce);
  const secrets = sent.secrets && completeSecrets(sent.secrets, facts, limits.secrets, announce);
  if (sent.secretsVersion !== secretsVersion) {
    const why = sent.secretsVersion === undefined ? 'default' : 'only the rotation operation raises it';
    announce('secretsVersion', sent.secretsVersion, secretsVersion, why);
  }
  const volumes = sent.volumes && completeMounts(sent.volumes, facts, announce);
  const placement = sent.placement && completePlacement(sent.placement, announce);
  const dependsOn = sent.dependsOn && completeDependencies(sent.dependsOn, announce);
  const rollout = sent.rollout && completeRollout(sent.rollout, announce);
  // In the order in which it is stored: sorting it costs nothing then.
  const spec = present<Deployment>({
    command: sent.command,
    composedSecrets: sent.composedSecrets,
    dependsOn,
    entrypoint: sent.entrypoint,
    environment: sent.environment,
    healthCheck,
    image: sent.image,
    kind: 'Deployment',
    labels: sent.labels,
    name: sent.name,
    networks: sent.networks,
    nodeId,
    placement,
    ports,
    replicas: sent.replicas ?? REPLICAS_DEFAULT,
    resources: sent.resources,
    rollout,
    secrets: secrets?.secrets,
    secretsVersion,
    volumes,
  });
  return { spec, alterations, material: secrets?.material ?? [] };
}

/** The fields that have a value. */
function present<Whole extends object>(fields: { [Field in keyof Required<Whole>]: Whole[Field] | undefined }): Whole {
  const found: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== undefined) found[name] = fields[name];
  return found as Whole;
}

function completePorts(ports: PortsInput, announce: Announce): readonly Port[] {
  return ports.map(({ protocol, ...port }, position) => {
    if (protocol === undefined) {
      announce(FieldPath.root.child('ports').index(position).child('protocol'), null, 'tcp', 'default');
    }
    return { ...port, protocol: protocol ?? 'tcp' };
  });
}

type SentCheck = Omit<HealthCheck, 'type'> & { readonly type?: 'exec' };

function completeCheck(check: SentCheck, announce: Announce): HealthCheck {
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
