import { type ExitCode, exitCode } from '../exit-code.js';
import { UsageFault } from '../faults.js';
import { deployments } from '../kinds.js';
import { printLoop } from '../loop-log.js';
import { printReplica } from '../replica-logs.js';
import type { Command } from '../session.js';
import type { DeploymentView } from '../views.js';

interface LogsInput {
  readonly name: string | undefined;
  /** A log of a loop is followed unless told otherwise, a deployment's only when told so. */
  readonly follow: boolean | undefined;
  readonly tail: number | undefined;
  readonly replica: number | undefined;
  /** The loop whose log to show instead of a deployment's. */
  readonly controllers: string | undefined;
}

/** Shows what a deployment's containers print, or what one loop of the all-in-one logs. */
export const logs: Command<LogsInput> = async (session, input) => {
  const { name, tail, replica, controllers, follow = controllers !== undefined } = input;
  const { terminal, ink } = session;
  if (controllers !== undefined) return printLoop(session, { loop: controllers, follow, tail });
  if (name === undefined) throw new UsageFault('name a deployment, or a loop with --controllers.');

  const client = await session.connect();
  const answer = await client.request<DeploymentView>('GET', `${deployments.path}/${encodeURIComponent(name)}`);
  if (!answer.ok) return session.refused(answer);
  const replicas = replica === undefined ? placedReplicas(answer.value) : [replica];
  if (replicas.length === 0) terminal.err(`no replica of deployment/${name} has a node yet\n`);

  const printed = (number: number): Promise<ExitCode> => {
    const whose = replicas.length > 1 ? ink.cyan(`${name}-${number} | `) : '';
    const print = (line: string) => terminal.out(`${whose}${line}\n`);
    return printReplica(session, client, { deployment: name, replica: number, follow, tail, print });
  };
  const codes = follow ? await Promise.all(replicas.map(printed)) : await inTurn(replicas, printed);
  return codes.find(code => code !== exitCode.ok) ?? exitCode.ok;
};

function placedReplicas({ status }: DeploymentView): readonly number[] {
  return (status?.placements ?? []).filter(({ nodeId }) => nodeId).map(({ replica }) => replica);
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
