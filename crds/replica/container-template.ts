import type { Deployment } from '../deployment/index.js';
import { hashSpec } from '../meta/index.js';
import type { ContainerTemplate } from './replica.js';

/** What the containers of a deployment are made from. */
export function containerTemplate(spec: Deployment): ContainerTemplate {
  const { image, entrypoint, command, environment, healthCheck, ports, resources } = spec;
  const { secrets, composedSecrets, secretsVersion } = spec;
  return {
    image,
    ...(entrypoint && { entrypoint }),
    ...(command && { command }),
    ...(environment && { environment }),
    ...(healthCheck && { healthCheck }),
    ...(ports && { ports }),
    ...(resources && { resources }),
    ...(secrets?.length && { secrets: secrets.map(({ name, vault_path }) => ({ name, vault_path })) }),
    ...(composedSecrets && { composedSecrets }),
    secretsVersion,
  };
}

/** The same for two specs exactly when a container of one may serve for the other. A named node is part of it. */
export function templateHash(spec: Deployment): string {
  return hashSpec({ template: containerTemplate(spec), ...(spec.nodeId && { namedNode: spec.nodeId }) });
}
