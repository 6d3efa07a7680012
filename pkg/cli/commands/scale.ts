import { exitCode } from '../exit-code.js';
import { deployments } from '../kinds.js';
import type { Command } from '../session.js';
import type { DeploymentView } from '../views.js';
import { announce } from './apply.js';

interface ScaleInput {
  readonly name: string;
  readonly replicas: number;
}

/** Asks for another number of replicas: a PUT of that one field. */
export const scale: Command<ScaleInput> = async (session, { name, replicas }) => {
  const client = await session.connect();
  const path = `${deployments.path}/${encodeURIComponent(name)}`;
  const answer = await client.request<DeploymentView>('PUT', path, { body: { replicas } });
  if (!answer.ok) return session.refused(answer);
  announce(session, `deployment/${name}`, answer.value, `scaled to ${replicas}`);
  return exitCode.ok;
};
